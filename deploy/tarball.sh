#!/usr/bin/env bash
# Packs a weir that needs no libraries: target/dist/weir-VERSION-ARCH-linux-LIBC.tar.gz and its checksum.
#
# With Rust's musl target installed (rustup target add x86_64-unknown-linux-musl) it is built with that, else
# with this system's glibc, linked in. Either way it cannot load NVML, a library of the GPU's driver: for the
# figures of GPUs there is the image, or a plain `cargo build --release`.
set -euo pipefail
cd "$(dirname "$0")/.."

arch=$(uname -m)
target=$arch-unknown-linux-musl
libc=musl
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
  target=$(rustc --print host-tuple)
  libc=glibc
fi
# With --target, build scripts and macros are linked as usual.
RUSTFLAGS="-Ctarget-feature=+crt-static" cargo build --locked --release --bin weir --target "$target"
weir=${CARGO_TARGET_DIR:-target}/$target/release/weir

# Nothing but itself: a library that slipped in would be missed only where it is used.
if readelf -d "$weir" | grep NEEDED; then
  echo "$weir is not static" >&2
  exit 1
fi

read -r _ version < <("$weir" --version)
name=weir-$version-$arch-linux-$libc
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
install -D -t "$folder/$name" "$weir"
install -m 644 -t "$folder/$name" LICENSE README.md proxy.toml

# The same commit gives the same bytes, on the same toolchain.
dist=${CARGO_TARGET_DIR:-target}/dist
mkdir -p "$dist"
tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
  -c "$name" | gzip -n9 >"$dist/$name.tar.gz"
(cd "$dist" && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")
