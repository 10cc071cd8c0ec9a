-- Workspaces; every n-th has a message.
with made as (
  insert into workspaces (external_id, key) select 'bench ' || i, 'wbench' || i from generate_series(1, $1::int) i returning id, external_id
), task as (
  insert into scheduled_tasks (workspace_id, name, kind, paused_at) select id, 'daily-reflection', 'reflection', now() from made
)
insert into conversations (workspace_id, external_id, channel, next_seq, last_turn_at)
select id, 'c', 'chat', 2, now() from made where split_part(external_id, ' ', 2)::int % $2::int = 0
