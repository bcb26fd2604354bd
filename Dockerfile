# syntax=docker/dockerfile:1

# docker build --tag weir --build-arg VERSION=0.1.0 --build-arg REVISION="$(git rev-parse HEAD)" .
# docker run --rm -p 8080:8080 -e WEIR_UPSTREAM=http://10.0.0.7:8000 weir

# Debian 12 in both stages: a binary needs the libc that it was built against, or a newer one.
FROM rust:1.95.0-bookworm AS build
WORKDIR /src
COPY . .
# The caches keep downloads and compiled crates from one build to the next. They are no part of the layer, so
# the binary is copied out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --release --bin weir \
    && install -D target/release/weir /out/weir

# glibc and libgcc, certificates, and nothing else: no shell, no package manager. It is not the static base
# with a musl build, because NVML is a glibc library that belongs to the host's driver and is loaded at run time.
FROM gcr.io/distroless/cc-debian12:nonroot
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="weir" \
      org.opencontainers.image.description="A transparent streaming reverse proxy that measures and regulates LLM token streams" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/weir /usr/local/bin/weir
COPY LICENSE /usr/share/doc/weir/LICENSE
COPY deploy/container.toml /etc/weir/proxy.toml
# By number, so that an orchestrator can tell that it is not root. Nothing is written but what the
# configuration names, so the root may be read-only.
USER 65532:65532
EXPOSE 8080
# The admin port is on loopback: the probe asks it from inside.
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["/usr/local/bin/weir", "health"]
# Begins the drain; a second one ends it. Stop with more patience than [timeouts].drain_timeout.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/weir"]
CMD ["serve", "--config", "/etc/weir/proxy.toml"]
