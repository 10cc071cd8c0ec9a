-- name: Incarnation :one
select incarnation from store_state;

-- name: RunErased :one
-- Whether a run that does not exist was deleted with its conversation.
select exists (select from erased_runs where workspace_id = @workspace_id and id = @id)::boolean;

-- name: LostCommitCount :exec
update store_state set lost_commits = lost_commits + 1;

-- name: LostCommits :one
select lost_commits, (lost_commits - accepted_commits)::bigint as open from store_state;
