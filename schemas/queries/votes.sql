-- name: VoterLock :exec
-- The votes of a voter are counted one after the other.
select pg_advisory_xact_lock(11, hashtext(@workspace_id::bigint || '/' || @voter::text));

-- name: VoteGet :one
select * from votes where workspace_id = @workspace_id and voter = @voter and answer = @answer;

-- name: VotesLately :many
-- The voter's other votes within the last minute.
select * from votes where workspace_id = @workspace_id and voter = @voter and answer <> @answer and voted_at > now() - interval '1 minute';

-- name: VotesBurst :exec
-- Marks the votes of the last minute, whose effects were taken back.
update votes set burst = true, case_id = null, failures = 0, decisions = '{}'
where workspace_id = @workspace_id and voter = @voter and voted_at > now() - interval '1 minute' and not burst;

-- name: VotePut :exec
insert into votes (workspace_id, voter, answer, op_id, source, burst, run_id, conversation_id, case_id, failures, decisions)
values (@workspace_id, @voter, @answer, @op_id, @source, @burst, sqlc.narg('run_id'), sqlc.narg('conversation_id'), sqlc.narg('case_id'), @failures, @decisions::text[])
on conflict (workspace_id, voter, answer) do update set op_id = excluded.op_id, source = excluded.source, burst = excluded.burst, run_id = excluded.run_id,
  conversation_id = excluded.conversation_id, case_id = excluded.case_id, failures = excluded.failures, decisions = excluded.decisions, voted_at = now();

-- name: VoteBursts :many
select voter, count(*)::int as votes, max(voted_at)::timestamptz as last_at from votes where workspace_id = @workspace_id and burst
group by voter order by max(voted_at) desc, voter limit @max_rows;
