# Stands in for the image `caddy:2` where it cannot be fetched: Debian's Caddy 2 with that image's folders and command.
FROM stand-ins:debian
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
VOLUME /config
VOLUME /data
WORKDIR /srv
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
