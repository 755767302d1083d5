#!/usr/bin/env bash
# Runs a command as two ranks on two simulated hosts: network namespaces joined by a virtual cable. Exits with 0 if both
# ranks do, with 77 if namespaces cannot be created.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: two_hosts.sh COMMAND [ARGUMENT...]" >&2; exit 2; }
first=tributary-$$-0 second=tributary-$$-1
network=10.$(($$ / 250 % 250)).$(($$ % 250))

remove() {
  ip netns delete "$first" || true
  ip netns delete "$second" || true
} 2>/dev/null
trap remove EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if ! { ip netns add "$first" && ip netns add "$second" &&
       ip link add veth0 netns "$first" type veth peer name veth0 netns "$second"; } 2>/dev/null; then
  echo "skipped: no network namespaces" >&2
  exit 77
fi
host=0
for namespace in "$first" "$second"; do
  host=$((host + 1))
  ip -n "$namespace" address add "$network.$host/24" dev veth0
  ip -n "$namespace" link set lo up
  ip -n "$namespace" link set veth0 up
done

environment=(WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR="$network.1" MASTER_PORT="${MASTER_PORT:-29500}")
ip netns exec "$first" env RANK=0 "${environment[@]}" "$@" &
zero=$!
ip netns exec "$second" env RANK=1 "${environment[@]}" "$@" &
one=$!
code=0
wait "$zero" || code=$?
wait "$one" || code=$?
exit "$code"
