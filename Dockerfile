# The image of the service. Its last stage is what bootstrap/packaging/image/build makes, too, without Docker and from scratch:
# that script reads the instructions of the last stage, so there is one description of the image.

FROM rust:1.95.0-bookworm AS build
WORKDIR /source
COPY . .
# The repository's history is not copied: --build-arg PROPOSAL_SERVICE_COMMIT=$(git rev-parse --short=12 HEAD) names the commit.
ARG PROPOSAL_SERVICE_COMMIT=unknown
ARG SOURCE_DATE_EPOCH=0
# The caches keep downloads and built dependencies between builds. They are not part of the image.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    cargo install --locked cargo-auditable@0.7.7 \
    && bootstrap/packaging/release/build \
    && install target/release/proposal-service /proposal-service \
    && install --directory --owner 65532 --group 65532 --mode 0700 /empty/data

# distroless: loader, libc, libgcc, CA certificates, time zones, and the user 65532; no shell.
FROM gcr.io/distroless/cc-debian12:nonroot
LABEL org.opencontainers.image.title="proposal-service" \
      org.opencontainers.image.description="Keeps research proposals and what belongs to them, and serves them over HTTP" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY --from=build /proposal-service /usr/bin/proposal-service
COPY --from=build --chown=65532:65532 /empty/data /data
# Without a URL the store is the SQLite file data/proposals.db below the root.
WORKDIR /
VOLUME /data
# Others than the container can reach the service, so it starts only with callers (PROPOSAL_SERVICE_IDENTITY), or with
# PROPOSAL_SERVICE_ALLOW_ANONYMOUS=true.
ENV PROPOSAL_SERVICE_LISTEN=0.0.0.0:8080 \
    PROPOSAL_SERVICE_LOG_FORMAT=json
EXPOSE 8080
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/proposal-service"]
CMD ["serve"]
