"""Programs that reach services: what destroys there, what prints credentials, what sends files away."""

from __future__ import annotations

import re

from agent_security.decision import Check
from agent_security.shell.words import Command

DESTRUCTIVE_REMOTE: tuple[tuple[str, str], ...] = (
    (
        r"(terraform|tofu|terragrunt)\b.*\s(destroy|apply\b.*-(auto-approve"
        r"|destroy)|state rm|taint|force-unlock|workspace delete)\b",
        "infrastructure",
    ),
    (r"pulumi\b.*\s(destroy|up\b.*(-y|--yes)|stack rm)\b", "infrastructure"),
    (r"cdk\b.*\s(destroy|deploy)\b", "infrastructure"),
    (r"(serverless|sls|sst|amplify|eb)\s+.*\b(remove|delete|terminate|deploy)\b", "infrastructure"),
    (
        r"aws\s.*\s(rm|rb|delete-\S+|terminate-\S+|destroy-\S+|purge-\S+|deregister-\S+|put-bucket-policy|remove-\S+)\b",
        "cloud data",
    ),
    (r"aws\s+s3\s+sync\s.*--delete", "cloud data"),
    (
        r"(gcloud|az|doctl|linode-cli|hcloud|oci|ibmcloud|scw|vultr-cli|flyctl|fly|openstack|exo|aliyun)\s.*\b(delete|destroy|remove|purge|rm)\b",
        "cloud resources",
    ),
    (
        r"(kubectl|oc|k3s kubectl)\b.*\s(delete|drain|cordon"
        r"|replace\b.*--force|scale\b.*--replicas=0|rollout undo)\b",
        "a cluster",
    ),
    (r"(kubectl|oc)\b.*\sapply\b.*(-f|--filename)[= ]?https?:", "a cluster"),
    (r"helm\b.*\s(uninstall|delete|del|rollback)\b", "a cluster"),
    (r"(dropdb|dropuser|mysqladmin\b.*\sdrop)\b", "a database"),
    (
        r"(?is)(psql|mysql|mariadb|sqlcmd|clickhouse-client|snowsql|cockpit|cqlsh|sqlite3|duckdb|bq)\b.*\b(drop\s+(database|table|schema|keyspace|user|role)|truncate\s+(table\s+)?\w|delete\s+from\s+\w+\s*(;|$))",
        "a database",
    ),
    (r"redis-cli\b.*\b(?i:flushall|flushdb)\b", "a database"),
    (r"(?i)mongo(sh)?\b.*(dropDatabase|\.drop\(|deleteMany\(\s*\{\s*\})", "a database"),
    (
        r"(rails|rake|bin/rails|bundle exec rails"
        r"|bundle exec rake)\s+.*\bdb:(drop|reset|purge|truncate_all|schema:load)",
        "a database",
    ),
    (r"(python\S*\s+)?(\S*/)?manage\.py\s+(flush|reset_db|sqlflush\b.*\|)", "a database"),
    (r"(prisma|npx prisma)\s+.*\b(migrate reset|db push\b.*--(force-reset|accept-data-loss))", "a database"),
    (r"(alembic\s+downgrade\s+base|flyway\s+clean|liquibase\s+drop)", "a database"),
    (r"(pg_restore|mysql)\b.*--clean\b", "a database"),
    (r"heroku\s+.*\b(apps:destroy|apps:delete|pg:reset|addons:destroy)\b", "an application"),
    (
        r"(vercel|netlify|firebase|wrangler|railway|render|surge)\b.*\s(rm|remove|delete|destroy|deploy|sites:delete|--prod|teardown)\b",
        "a deployment",
    ),
    (
        r"gh\s+(repo|release|run|secret|variable|workflow|cache|gist|issue|label|ssh-key|gpg-key|project|codespace)\s+(delete|remove|archive|transfer|rename)\b",
        "a repository",
    ),
    (
        r"gh\s+pr\s+(merge|close)\b|gh\s+repo\s+(edit|create|sync|deploy-key)\b|gh\s+release\s+create\b|gh\s+(secret|variable)\s+set\b",
        "a repository",
    ),
    (r"gh\s+api\b.*(-X|--method)[= ]?(?i:delete|put|patch|post)\b", "a repository"),
    (r"glab\s+\w+\s+(delete|merge|close)\b", "a repository"),
    (
        r"(npm|yarn|pnpm|bun)\s+(-\S+\s+)*(publish|unpublish|deprecate|npm publish|access|owner|dist-tag)\b",
        "a published package",
    ),
    (
        r"(twine\s+upload|(uv|poetry|flit|hatch|pdm|maturin)\s+(-\S+\s+)*publish|python\S*\s+-m\s+twine\s+upload|python\S*\s+setup\.py\s+.*upload)\b",
        "a published package",
    ),
    (
        r"(cargo\s+(-\S+\s+)*(publish|yank|owner)|gem\s+(push|yank|owner)|mvn\b.*\s(deploy|release:perform)|gradlew?\s.*\bpublish\w*)\b",
        "a published package",
    ),
    (r"(\./gradlew)\s.*\bpublish\w*\b", "a published package"),
    (
        r"dotnet\s+nuget\s+(push|delete)\b|pod\s+trunk\s+push\b|mix\s+hex\.publish\b|goreleaser\s+release\b|npx\s+semantic-release\b",
        "a published package",
    ),
    (
        r"(ansible|ansible-playbook|salt|chef-client|puppet|knife|fab"
        r"|cap)\s.*\b(state=absent|deploy|-m shell)\b",
        "other machines",
    ),
    (r"vault\s+(delete|kv (delete|destroy|metadata delete)|operator)\b", "secrets"),
    (
        r"etcdctl\s+.*\bdel\b|consul\s+kv\s+delete\b|kafka-topics\S*\s.*--delete|rabbitmqctl\s+(reset|delete_\w+|purge_queue)\b",
        "a service",
    ),
    (r"svn\s+(delete|rm|del|remove)\s+\S*://|hg\s+(strip|push\s.*(-f|--force))\b", "a repository"),
)
"""(command, what is changed for good)."""

CREDENTIALS: tuple[tuple[str, str], ...] = (
    (
        r"gh\s+auth\s+(token|setup-git|refresh|login)\b|gh\s+auth\s+status\b.*(-t|--show-token)\b",
        "GitHub's token",
    ),
    (r"glab\s+auth\s+(token|login)|glab\s+config\s+get\s+token", "GitLab's token"),
    (
        r"gcloud\s+(\S+\s+)*(print-access-token|print-identity-token|keys create)\b|gcloud\s+auth\s+login",
        "a cloud token",
    ),
    (r"az\s+account\s+get-access-token\b|az\s+(acr|aks)\s+.*(credential|get-credentials)", "a cloud token"),
    (
        r"aws\s+(configure\s+(get|export-credentials)|sts\s+(get-session-token|assume-role)|ecr\s+get-login\S*|secretsmanager\s+get-secret-value|ssm\s+get-parameter\S*.*--with-decryption|iam\s+create-access-key|sso\s+login)\b",
        "cloud credentials",
    ),
    (
        r"(kubectl|oc)\b.*\s(get|describe)\s+secrets?\b|kubectl\s+config\s+view\b.*--raw|kubectl\s+create\s+token",
        "a cluster's secrets",
    ),
    (
        r"(pass|gopass)\s+(show|-c|ls\s|insert)|op\s+(read|item|signin|get)\b|bw\s+(get|list|unlock|export)\b|lpass\s+\w+",
        "a password store",
    ),
    (
        r"security\s+(find-\S+-password|dump-keychain|export)\b|secret-tool\s+(lookup|search)\b|kwallet-query\b|keyring\s+get\b",
        "a key ring",
    ),
    (r"gpg2?\s.*--export-secret\S*|gpg2?\s.*--export-ownertrust", "secret keys"),
    (r"ssh-add\b|ssh-agent\b|ssh-keyscan\b", "ssh keys"),
    (
        r"vault\s+(read|kv\s+get|token|login|print)\b|doppler\s+secrets\b|infisical\s+(export|secrets|run)\b|chamber\s+(read|export)\b|sops\s+(-d|--decrypt|decrypt|exec-\w+)\b|ansible-vault\s+(view|decrypt)",
        "a secret store",
    ),
    (
        r"heroku\s+(auth:token|config(:get)?|authorizations\S*)\b|fly(ctl)?\s+auth\s+token|netlify\s+env:get|vercel\s+env\s+pull|railway\s+variables",
        "a platform's secrets",
    ),
    (
        r"npm\s+(token|adduser|login)\b|yarn\s+npm\s+login|docker-credential-\S+|git-credential-\S+|npm\s+config\s+get\s+.*_auth",
        "a package token",
    ),
    (r"(mimikatz|lazagne|trufflehog|gitleaks)\b.*\b(--no-redact|sekurlsa|all|filesystem\s+/)", "credentials"),
)
"""(command, whose secret it prints or takes)."""

UPLOADS: tuple[tuple[str, str], ...] = (
    (r"aws\s+(-\S+\s+(\S+\s+)?)*s3\s+(cp|mv|sync)\s+(-\S+\s+)*(?!s3://)\S+\s+(.*\s)?s3://", "S3"),
    (r"aws\s+s3api\s+put-object\b", "S3"),
    (
        r"gcloud\s+storage\s+(cp|mv|rsync)\s+(?!gs://)\S+.*\sgs://|az\s+storage\s+\w+\s+(upload\S*|sync)",
        "cloud storage",
    ),
    (r"gh\s+(gist\s+create|release\s+upload|secret\s+set)\b|gh\s+codespace\s+(cp|ssh)\b", "GitHub"),
    (r"rsync\b.*\s([\w.-]+@)?[\w.-]+:(?!\\)\S*|rsync\b.*\brsync://", "another machine"),
    (r"(kubectl|oc)\s+cp\s|docker\s+cp\s|oc\s+rsync", "a container"),
    (r"(python\S*\s+-m\s+)?(twine|pastebinit|sprunge|ix|termbin|dpaste)\b.*<", "a paste service"),
    (
        r"(pastebinit|wormhole|magic-wormhole|0x0|gist|dropbox_uploader\.sh|gdrive|mega-put|onionshare(-cli)?)\b",
        "a sharing service",
    ),
    (r"openssl\s+s_(client|server|time)\b", "a TLS connection"),
    (r"getent\s+(-\S+\s+)*(hosts|ahosts|ahostsv4|ahostsv6)\b", "a name server"),
    (r"(ssh-keygen|curlie|xh)\b.*\s-D\s+https?:", "a host"),
    (
        r"code\s+tunnel\b|gh\s+webhook\b|vercel\s+tunnel\b|npx\s+(-\S+\s+)*localtunnel\b|npx\s+(-\S+\s+)*ngrok\b|ssh\s+-R\b",
        "a tunnel",
    ),
    (
        r"(exiftool|ffmpeg|convert|wkhtmltopdf|chromium\S*|google-chrome\S*|firefox|puppeteer)\b.*\s(https?|ftp|rtmp|tcp|udp)://",
        "an address",
    ),
)
"""(command, where it sends to)."""


def _compiled(table: tuple[tuple[str, str], ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), what) for pattern, what in table)


_DESTRUCTIVE, _CREDENTIALS, _UPLOADS = map(_compiled, (DESTRUCTIVE_REMOTE, CREDENTIALS, UPLOADS))


def named_text(command: Command) -> str:
    """The command by its bare name (`/usr/bin/aws` is `aws`); a script of the project keeps its path."""
    shown = " ".join(word.text for word in command.args)
    head = command.argv[0].text if command.argv and command.argv[0].text.startswith("./") else command.name
    return f"{head} {shown}".strip()


def check_service(command: Command) -> Check:
    """Refused: credentials, and files sent away."""
    text = named_text(command)
    for pattern, what in _CREDENTIALS:
        if pattern.match(text):
            return Check(False, f"credential_command: {command.name} would print or take {what}")
    for pattern, what in _UPLOADS:
        if pattern.match(text):
            return Check(False, f"upload: {command.name} would send data to {what}")
    return Check(True)


def ask_service(command: Command) -> Check:
    """ok=True: what it changes elsewhere cannot be put back."""
    text = named_text(command)
    for pattern, what in _DESTRUCTIVE:
        if pattern.match(text):
            return Check(True, f"destructive_remote: {command.name} would change {what} for good")
    return Check(False)
