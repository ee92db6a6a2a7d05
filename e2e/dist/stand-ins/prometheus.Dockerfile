# Stands in for the image `prom/prometheus:v3.5.0` where it cannot be fetched: Debian's Prometheus 2.53 with that image's user and folder.
FROM stand-ins:debian
COPY --chown=nobody:nogroup empty/ /prometheus
USER nobody
VOLUME /prometheus
WORKDIR /prometheus
ENTRYPOINT ["/usr/bin/prometheus"]
