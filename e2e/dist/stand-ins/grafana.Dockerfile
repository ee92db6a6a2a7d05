# Stands in for the image `grafana/grafana`, which no package of Debian contains. It is not Grafana: it draws nothing. It has that image's user, folder and
# port, reads the provisioning files that Compose mounts, and passes queries to the data source that they name.
FROM stand-ins:debian
COPY --chown=472:0 empty/ /var/lib/grafana
COPY grafana.sh /run.sh
USER 472
VOLUME /var/lib/grafana
WORKDIR /usr/share
ENTRYPOINT ["bash", "/run.sh"]
