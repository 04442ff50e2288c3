#!/bin/bash
# Hosts out of network namespaces on one machine, as root: each has an address on a common bridge, and its link is
# limited to 200 Mbit/s and, where the kernel has netem, delayed by 1 ms.
#
#   network.sh up PREFIX HOST…       makes them, as namespaces PREFIX-HOST
#   network.sh in PREFIX HOST COMMAND…   runs a command as that host, with its own name
#   network.sh agent PREFIX HOST COMMAND…  the same for Open MPI: the command is a shell's text; on host c the
#                                    monotonic clock is ten days ahead, where the kernel can do that
#   network.sh cut PREFIX HOST       takes its link away
#   network.sh processes PREFIX      lists what runs on all of them
#   network.sh down PREFIX           ends what runs there and removes everything
set -u
what=$1 prefix=$2
shift 2

namespaces() {
  ip netns list | cut -d ' ' -f 1 | grep "^$prefix-" || true
}

case $what in
  up)
    set -e
    switch=$prefix-switch
    ip netns add "$switch"
    ip -n "$switch" link add bridge type bridge
    ip -n "$switch" link set bridge up
    address=0
    for host in "$@"; do
      address=$((address + 1))
      ip netns add "$prefix-$host"
      ip -n "$prefix-$host" link set lo up
      ip link add "link-$host" netns "$prefix-$host" type veth peer name "port-$host" netns "$switch"
      ip -n "$prefix-$host" address add "10.77.0.$address/24" dev "link-$host"
      ip -n "$prefix-$host" link set "link-$host" up
      ip -n "$switch" link set "port-$host" master bridge up
      ip netns exec "$prefix-$host" tc qdisc add dev "link-$host" root handle 1: tbf \
        rate 200mbit burst 128kb latency 100ms || echo "network.sh: no tbf: links are not limited" >&2
      ip netns exec "$prefix-$host" tc qdisc add dev "link-$host" parent 1: netem delay 1ms 2> /dev/null ||
        echo "network.sh: no netem: links are not delayed" >&2
    done
    ;;
  in)
    host=$1
    shift
    exec ip netns exec "$prefix-$host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
    ;;
  agent)
    host=$1
    shift
    clock=()
    if [[ $host == *c ]] && unshare --time --monotonic 864000 true 2> /dev/null; then
      clock=(--time --monotonic 864000)
    fi
    exec ip netns exec "$prefix-$host" unshare --uts "${clock[@]}" sh -c "hostname $host; $*"
    ;;
  cut)
    ip -n "$prefix-switch" link set "port-$1" down
    ;;
  processes)
    for namespace in $(namespaces); do
      ip netns pids "$namespace" | xargs -r ps -o args= -p
    done
    ;;
  down)
    for namespace in $(namespaces); do
      ip netns pids "$namespace" | xargs -r kill -KILL 2> /dev/null
      ip netns delete "$namespace"
    done
    ;;
esac
