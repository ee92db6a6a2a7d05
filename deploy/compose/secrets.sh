#!/bin/sh
# Writes random secrets for deploy/compose.yaml, once: deploy/.env with its variables, and deploy/secrets/admin_token for Prometheus.
set -eu
deploy=$(cd "$(dirname "$0")/.." && pwd)
if [ -e "$deploy/.env" ]; then
    echo "$deploy/.env exists, so nothing was written: the database and the webhooks depend on its secrets" >&2
    exit 1
fi
umask 077
hex() { openssl rand -hex "$1"; }
token=$(hex 32)
mkdir -p "$deploy/secrets"
printf %s "$token" > "$deploy/secrets/admin_token"
# Prometheus reads it as a user without a name on the host. Only the owner of the folder reaches it there.
chmod 644 "$deploy/secrets/admin_token"
cat > "$deploy/.env" <<VARIABLES
# The name under which callers reach the service; the proxy gets a certificate for it. With localhost the certificate is the proxy's own.
RDS_HOST=localhost
POSTGRES_PASSWORD=$(hex 24)
RDS_MIGRATE_PASSWORD=$(hex 24)
RDS_SERVE_PASSWORD=$(hex 24)
RDS_READ_PASSWORD=$(hex 24)
# The same as in secrets/admin_token.
RDS_ADMIN_TOKEN=$token
RDS_ASSERTION_KEY=k1:$(hex 32)
RDS_MASTER_KEY=$(hex 32)
# Signs decisions, once it is activated: docker compose exec origin-a /usr/bin/rds-origin signers activate
RDS_SIGNING_KEY=$(hex 32)
# Of Grafana's user admin.
GRAFANA_PASSWORD=$(hex 16)
VARIABLES
