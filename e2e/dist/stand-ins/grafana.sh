#!/bin/bash
# What of Grafana's interface the test of deploy/compose.yaml uses, from the provisioning files: a dashboard by its uid, with the password of `admin`, and
# queries to the default data source.
set -Eeuo pipefail
provisioning=/etc/grafana/provisioning
value() { sed -n "s/^ *$1: *//p" "$2" | head -n 1; }
url=$(value url $provisioning/datasources/*.yaml)
folder=$(value path $provisioning/dashboards/*.yaml)
[ "$(value isDefault $provisioning/datasources/*.yaml)" = true ]
test -r "$GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"
touch /var/lib/grafana/grafana.db /tmp/grafana
hash=$(caddy hash-password --plaintext "$GF_SECURITY_ADMIN_PASSWORD")
export XDG_CONFIG_HOME=/tmp XDG_DATA_HOME=/tmp
cat > /tmp/Caddyfile <<FILE
{
	admin off
	auto_https off
}
:3000 {
	basicauth {
		admin $hash
	}
	header Server "stand-in for Grafana"
	handle_path /api/dashboards/uid/* {
		root * $folder
		rewrite * {path}.json
		file_server
	}
	handle_path /api/datasources/proxy/uid/$(value uid $provisioning/datasources/*.yaml)/* {
		reverse_proxy $url {
			header_up -Authorization
		}
	}
}
FILE
exec caddy run --config /tmp/Caddyfile --adapter caddyfile
