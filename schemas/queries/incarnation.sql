-- name: Incarnation :one
select incarnation from store_state;

-- name: LastRun :one
-- The highest number of a run that was ever assigned, in all workspaces.
select coalesce(pg_sequence_last_value('cairn.runs_id_seq'::regclass), 0)::bigint;

-- name: LostCommitCount :exec
update store_state set lost_commits = lost_commits + 1;

-- name: LostCommits :one
select lost_commits, (lost_commits - accepted_commits)::bigint as open from store_state;
