-- name: VoterLock :exec
-- The votes of a voter, and those that one key sends, are counted one after the other.
select pg_advisory_xact_lock(11, hashtext(@workspace_id::bigint || '/' || @voter::text));

-- name: VoteGet :one
select * from votes where workspace_id = @workspace_id and voter = @voter and answer = @answer;

-- name: VotesLately :many
-- The sender's other votes within the last minute.
select * from votes where workspace_id = @workspace_id and sender = @sender and (voter, answer) <> (@voter::text, @answer::text) and voted_at > now() - interval '1 minute';

-- name: VotesBurst :exec
-- Marks the votes of the last minute, whose effects were taken back.
update votes set burst = true, case_id = null, failures = 0, decisions = '{}'
where workspace_id = @workspace_id and sender = @sender and voted_at > now() - interval '1 minute' and not burst;

-- name: VotePut :exec
insert into votes (workspace_id, voter, sender, answer, op_id, source, burst, run_id, conversation_id, case_id, failures, decisions)
values (@workspace_id, @voter, @sender, @answer, @op_id, @source, @burst, sqlc.narg('run_id'), sqlc.narg('conversation_id'), sqlc.narg('case_id'), @failures, @decisions::text[])
on conflict (workspace_id, voter, answer) do update set sender = excluded.sender, op_id = excluded.op_id, source = excluded.source, burst = excluded.burst, run_id = excluded.run_id,
  conversation_id = excluded.conversation_id, case_id = excluded.case_id, failures = excluded.failures, decisions = excluded.decisions, voted_at = now();

-- name: VoteBursts :many
select coalesce(nullif(sender, ''), voter)::text as sender, count(*)::int as votes, max(voted_at)::timestamptz as last_at
from votes where workspace_id = @workspace_id and burst
group by 1 order by max(voted_at) desc, 1 limit @max_rows;

-- name: VotersCount :one
select count(distinct voter)::int from votes where workspace_id = @workspace_id and not burst;
