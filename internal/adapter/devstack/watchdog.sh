# watchdog.sh GENTLE PATIENCE HARD REMOVE COMMAND…
#
# Runs COMMAND until it ends or until the other end of file descriptor 3 closes,
# which is how the death of our parent shows, whatever killed it.
# A line read from descriptor 3 is the name of a signal to pass on.
#   GENTLE    signal that asks COMMAND to stop
#   PATIENCE  tenths of a second that it has before HARD is sent
#   HARD      signal that makes it stop
#   REMOVE    folder to delete when the parent has gone, or empty
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

# wait returns early when USR1 arrives; the server is gone only when it can be signalled no more.
wait "$server"
code=$?
while kill -s 0 "$server" 2>/dev/null; do
	wait "$server"
	code=$?
done

# The rest of our session: the reader above, and what an interrupted installation still had running.
trap : TERM
kill -s TERM 0
cd /
[ -n "$orphaned" ] && [ -n "$remove" ] && rm -rf -- "$remove"
exit "$code"
