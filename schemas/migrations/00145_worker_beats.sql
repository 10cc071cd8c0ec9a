-- +goose Up
-- When a worker of each queue was alive last: Temporal forgets a worker that is gone only after minutes. The rows are of
-- no workspace.

create table worker_beats (
  queue   text primary key check (queue <> ''),
  seen_at timestamptz not null default now()
);
alter table worker_beats enable row level security;
alter table worker_beats force row level security;
create policy worker_beats_app on worker_beats for select to cairn_app using (true);
create policy worker_beats_system on worker_beats to cairn_system using (true) with check (true);
create policy worker_beats_owner on worker_beats to cairn_owner using (true) with check (true);
grant select on worker_beats to cairn_app, cairn_system;
grant insert, update (seen_at) on worker_beats to cairn_system;
