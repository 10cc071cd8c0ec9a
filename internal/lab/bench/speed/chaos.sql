-- Counts of the experiment with adds. The audit reads them as a superuser.

-- name: ended
select count(*)::int from cairn.runs where kind = 'summarize' and status = 'ended'

-- name: open
select count(*)::int from cairn.runs where kind = 'summarize' and status <> 'ended'

-- name: failed
select count(*)::int from cairn.runs where kind = 'summarize' and status = 'ended' and outcome <> 'completed'

-- name: duties
select count(*)::int from cairn.outbox where kind = 'drive'

-- name: remembered
select count(*)::int from cairn.memories where type = 'personal' and status = 'active' and content like $1 and target = $2
