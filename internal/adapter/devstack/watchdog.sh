# watchdog.sh GENTLE PATIENCE HARD REMOVE COMMAND…
#
# Runs COMMAND until it ends or until the other end of file descriptor 3 closes. The kernel closes
# that end when the parent dies, whatever killed it. A line read from descriptor 3 is the name of a
# signal to pass on.
#   GENTLE    signal that asks COMMAND to stop
#   PATIENCE  tenths of a second until HARD is sent
#   HARD      signal that stops COMMAND
#   REMOVE    folder to delete after the parent has died, or empty
gentle=$1 patience=$2 hard=$3 remove=$4
shift 4

orphaned=
trap 'orphaned=yes' USR1

"$@" 3<&- &
server=$!

(
	trap - USR1
	while read -r signal; do kill -s "$signal" "$server"; done
	kill -s USR1 $$
	for last in "$gentle" "$hard" KILL; do
		kill -s "$last" "$server" || exit
		while [ "$patience" -gt 0 ]; do
			sleep 0.1
			kill -s 0 "$server" || exit
			patience=$((patience - 1))
		done
		patience=5
	done
) <&3 2>/dev/null &
exec 3<&-

# wait returns early when USR1 arrives. The server has ended only when it can no longer be signaled.
wait "$server"
code=$?
while kill -s 0 "$server" 2>/dev/null; do
	wait "$server"
	code=$?
done

# Stops the rest of this session: the reader above, and processes of an interrupted installation.
trap : TERM
kill -s TERM 0
cd /
[ -n "$orphaned" ] && [ -n "$remove" ] && rm -rf -- "$remove"
exit "$code"
