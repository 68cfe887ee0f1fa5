"""The rules: one row an issuer or shape. Each is anchored: a literal that must stand in the text.

A rule runs only at its anchor, and every repeat in it is bounded or stops at the next anchor, so
no text makes one slow. The secret is group 1 where there is one.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """Where one of `anchors` stands, `pattern` is matched at that place, and nowhere else."""

    name: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    chosen: bool = False
    """The secret is a password people choose, so `changeme` and `${PASS}` stand for none."""
    before: int = 0
    """How many word characters before the anchor belong to the secret, at most."""


_END = r"(?![A-Za-z0-9_-])"
_START = r"(?<![A-Za-z0-9])"


def _token(name: str, body: str, *anchors: str) -> Rule:
    """A token whose prefix may also end an ordinary word: a whole word."""
    return Rule(name, anchors, re.compile(f"{_START}(?:{body}){_END}"))


def _marked(name: str, body: str, *anchors: str) -> Rule:
    """A token whose prefix says what it is, wherever it begins (glued to other text, too)."""
    return Rule(name, anchors, re.compile(f"(?:{body})"))


def _tail(name: str, behind: str, body: str, anchor: str, before: int) -> Rule:
    """A token known by its middle. `behind`: what stands before the anchor, of fixed width."""
    return Rule(name, (anchor,), re.compile(f"(?<={behind})(?:{body}){_END}"), before=before)


SHORTEST = 14
"""Characters of the shortest token below. All of them are made of the characters of `runs.TOKEN`."""

ISSUERS: tuple[Rule, ...] = (
    _token("aws_access_key_id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", "AKIA", "ASIA", "ABIA", "ACCA"),
    _marked("aws_bedrock_key", r"ABSK[A-Za-z0-9+/]{60,}={0,2}", "ABSK"),
    _token("google_api_key", r"AIza[\w-]{35}", "AIza"),
    _token("google_oauth_token", r"ya29\.[\w.-]{20,}", "ya29."),
    _marked("google_client_secret", r"GOCSPX-[\w-]{20,}", "GOCSPX-"),
    _marked("github_token", r"gh[opsur]_[A-Za-z0-9]{36,255}", "gho_", "ghp_", "ghs_", "ghu_", "ghr_"),
    _marked("github_token", r"github_pat_\w{36,255}", "github_pat_"),
    _marked(
        "gitlab_token", r"gl(?:pat|rt|dt|ptt|ft|soat|cbt|agent|imt|oas|ffct)-[\w.-]{18,}",
        "glpat-", "glrt-", "gldt-", "glptt-", "glft-", "glsoat-", "glcbt-",
        "glagent-", "glimt-", "gloas-", "glffct-",
    ),
    _marked("slack_token", r"xox[abceoprs]-[\w-]{10,}", "xox"),
    _marked("slack_app_token", r"xapp-\d-[A-Z0-9]{8,}-\d{8,}-[a-f0-9]{32,}", "xapp-"),
    Rule("slack_webhook", ("hooks.slack.com/",), re.compile(
        r"hooks\.slack\.com/(?:services|workflows)/([\w/]{30,})")),
    _marked(
        "stripe_key", r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{16,}",
        "sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_",
    ),
    _token("webhook_secret", r"whsec_[A-Za-z0-9+/=]{24,}", "whsec_"),
    _marked("anthropic_key", r"sk-ant-[\w-]{20,}", "sk-ant-"),
    _token("openai_key", r"sk-(?:proj|svcacct|admin|or-v1|None)-[\w-]{20,}", "sk-"),
    _token("openai_key", r"sk-(?=[A-Za-z-]{0,60}\d)(?=[a-z0-9-]{0,60}[A-Z])[A-Za-z0-9]{20,}", "sk-"),
    _token("huggingface_token", r"hf_[A-Za-z0-9]{30,}", "hf_"),
    _token("groq_key", r"gsk_[A-Za-z0-9]{40,}", "gsk_"),
    _token("xai_key", r"xai-[A-Za-z0-9]{60,}", "xai-"),
    _token("replicate_token", r"r8_[A-Za-z0-9]{37}", "r8_"),
    _token("perplexity_key", r"pplx-[A-Za-z0-9]{40,}", "pplx-"),
    _marked("npm_token", r"npm_[A-Za-z0-9]{36}", "npm_"),
    _marked("pypi_token", r"pypi-AgE[\w-]{50,}", "pypi-AgE"),
    _token("rust_registry_token", r"cio[A-Za-z0-9]{32}", "cio"),
    _token("rubygems_key", r"rubygems_[a-f0-9]{48}", "rubygems_"),
    _token("nuget_key", r"oy2[a-z0-9]{43}", "oy2"),
    _marked("docker_token", r"dckr_(?:pat|oat)_[\w-]{20,}", "dckr_"),
    _token("twilio_key", r"SK[0-9a-f]{32}", "SK"),
    _token("sendgrid_key", r"SG\.[\w-]{16,32}\.[\w-]{16,64}", "SG."),
    _token("mailgun_key", r"key-[0-9a-f]{32}", "key-"),
    _tail("mailchimp_key", "[0-9a-f]{32}", r"-us\d{1,2}", "-us", 32),
    _token("databricks_token", r"dapi[0-9a-f]{32}(?:-\d)?", "dapi"),
    _token("vault_token", r"hv[bsr]\.[\w-]{24,}", "hvs.", "hvb.", "hvr."),
    _tail("terraform_token", "[A-Za-z0-9]{14}", r"\.atlasv1\.[\w-]{60,}", ".atlasv1.", 14),
    _token("digitalocean_token", r"do[opr]_v1_[a-f0-9]{64}", "doo_v1_", "dop_v1_", "dor_v1_"),
    _token("shopify_token", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", "shp"),
    _token("square_token", r"sq0(?:atp|csp)-[\w-]{22,}", "sq0"),
    _token("atlassian_token", r"AT(?:ATT|CTT|BB)3?[\w=.-]{40,}", "ATATT", "ATCTT", "ATBB"),
    _tail("azure_client_secret", r"[\w~.]{3}\d", r"Q~[\w~.-]{31,34}", "Q~", 4),
    _token("linear_key", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", "lin_"),
    _token("notion_token", r"(?:ntn_|secret_)[A-Za-z0-9]{43,50}", "ntn_", "secret_"),
    _token("figma_token", r"figd_[\w-]{36,}", "figd_"),
    _token("doppler_token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}", "dp."),
    _token("postman_key", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", "PMAK-"),
    _token("pulumi_token", r"pul-[a-f0-9]{40}", "pul-"),
    _token("newrelic_key", r"NRAK-[A-Z0-9]{27}", "NRAK-"),
    _token("grafana_token", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}", "glsa_", "glc_"),
    _tail("telegram_token", r"\d{8}", r":AA[\w-]{32,33}", ":AA", 10),
    _tail("discord_token", r"[\w-]{22}", r"\.[\w-]{6}\.[\w-]{27,40}", ".", 28),
    _token("tailscale_key", r"tskey-[a-z]{2,12}-[\w-]{20,}", "tskey-"),
    _token("sentry_token", r"sntry[su]_[\w+/=]{40,}", "sntry"),
    _token("supabase_token", r"sb(?:p|_secret)_[\w-]{24,}", "sbp_", "sb_secret_"),
    _token("planetscale_token", r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}", "pscale_"),
    _token("flyio_token", r"fm[12][ar]?_[\w+/=]{80,}|fo1_[\w-]{40,}", "fm1", "fm2", "fo1_"),
    _token("heroku_key", r"HRKU-[\w-]{36,}", "HRKU-"),
    _marked("age_key", r"AGE-SECRET-KEY-1[A-Z0-9]{40,70}", "AGE-SECRET-KEY-1"),
    _token("onepassword_token", r"ops_eyJ[\w=-]{100,}", "ops_eyJ"),
    _token("jwt", r"eyJ[\w-]{10,}\.eyJ[\w-]{6,}\.[\w-]{10,}", "eyJ"),
)  # fmt: skip

CONTEXTS: tuple[Rule, ...] = (
    Rule("uri_password", ("://",), re.compile(
        r"(?<=[A-Za-z0-9+.-])://[^\s:/@\"'<>`]{0,120}:"
        r"([^\s/@\"'<>`]{2,400}|[^\s@\"'<>`]{2,400}(?=@[\w.-]+[:/\s]))@[\w.\[-]"), True),
    Rule("basic_auth", (" -u", "\t-u", "--user"), re.compile(
        r"(?:\s-u\s?|--user[ =])[\"']?[\w.@-]{1,80}:([^\s\"']{4,200})"), True),
    Rule("authorization_header", ("uthorization", "UTHORIZATION"), re.compile(
        r"uthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
        r"(?:basic|bearer|token|digest)\s{1,4}([\w+/=.~-]{12,4000})", re.I), True),
    Rule("azure_account_key", ("AccountKey=",), re.compile(r"AccountKey=([A-Za-z0-9+/]{60,}={0,2})")),
    Rule("azure_shared_access", ("SharedAccess",), re.compile(
        r"SharedAccess(?:Key|Signature)=([\w+/=%&.-]{20,})")),
    Rule("signed_url", ("X-Amz-S", "X-Goog-S", "x-amz-s", "x-goog-s"), re.compile(
        r"x-(?:amz|goog)-(?:signature|security-token)=([A-Za-z0-9%+/=_-]{32,})", re.I)),
    Rule("signed_url", ("?sig=", "&sig="), re.compile(r".sig=([A-Za-z0-9%+/=_-]{32,})")),
    Rule("netrc", ("machine", "default"), re.compile(
        r"(?:machine\s{1,8}\S{1,200}|default)\s{1,8}login\s{1,8}\S{1,200}\s{1,8}"
        r"password\s{1,8}(\S{3,400})"), True),
    Rule("kubeconfig", ("client-key-data:",), re.compile(
        r"client-key-data:\s{0,8}[\"']?([A-Za-z0-9+/=]{24,})")),
    Rule("password_hash", (":$",), re.compile(
        r":(\$(?:apr1|1|2[abxy]|5|6|7|y|gy|argon2(?:id|i|d))\$[./A-Za-z0-9$=,+]{20,400})")),
    Rule("npm_auth", ("_auth",), re.compile(
        r"(?<![^\s:])_auth(?:Token)?\s{0,4}=\s{0,4}\"?([\w+/=-]{8,400})"), True),
)  # fmt: skip
