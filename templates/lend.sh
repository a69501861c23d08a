# Usage: lend.sh ROOT [HOST_FILE FILE_IN_ROOT]... -- COMMAND...
# Runs a command in the root filesystem and lends it files of the host meanwhile. Must run in a mount namespace of its own, with which all mounts end.
set -eu
root=$1
shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
while [ "$1" != -- ]; do
    [ -e "$root$2" ] || : > "$root$2"
    mount --bind "$1" "$root$2"
    mount -o remount,bind,ro "$root$2"
    shift 2
done
shift
exec chroot "$root" "$@"
