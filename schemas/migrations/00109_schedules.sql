-- +goose Up
-- Schedules: the recurring tasks of a workspace. The sweep starts their workflows when they are
-- due. The built-in tasks are the daily reflection, the weekly curation and the nightly evolution.

-- A firing is identified by its key: the local date, or the minute if a date has several. due_at is
-- the next firing, by the wall clock of the time zone. The slot is the last firing that came due,
-- with its result.
create table scheduled_tasks (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  name         text not null check (name ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and char_length(name) <= 64),
  kind         text not null check (kind in ('reflection', 'curate', 'evolution', 'turn')),
  cron         text check (cron is not null or kind = 'reflection'), -- null: the workspace's reflection_cron
  time_zone    text,                                    -- null: the workspace's
  prompt       text not null default '' check ((kind = 'turn') = (prompt <> '')),
  channel      text not null default 'scheduled' check (channel in ('voice', 'sms', 'chat', 'scheduled')),
  deliver_to   text not null default '',                -- account/chat or account/chat/thread; empty: the home chat
  max_turns    int not null default 0 check (max_turns between 0 and 50), -- model calls; 0 leaves the channel's budget
  catch_up     interval not null default '12 hours' check (catch_up >= '0'), -- a firing that is later than this is skipped
  -- if the previous turn has no reply yet
  overlap      text not null default 'skip' check (overlap in ('skip', 'queue')),
  paused_at    timestamptz,
  due_at       timestamptz,                             -- null until the sweep has planned it
  due_date     date,
  due_key      text,
  slot_at      timestamptz,
  slot_date    date,
  slot_key     text,
  slot_outcome text not null default '' check (slot_outcome in ('', 'started', 'empty', 'collapsed', 'skipped', 'failed')),
  slot_reason  text not null default '',
  claim        text,                                    -- the page of the sweep that has claimed the slot
  lease_until  timestamptz,                             -- by this database's clock; null after the slot has ended
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  -- A firing is due at due_at, which identifies it and ends its window. The sweep checks it from
  -- start_at on, which is later if quiet hours postpone it, or to spread the firings of all
  -- workspaces.
  start_at     timestamptz,                             -- null: at due_at
  look_at      timestamptz generated always as (case when paused_at is not null then null else coalesce(lease_until, start_at, due_at, '-infinity') end) stored,
  primary key (workspace_id, id),
  unique (workspace_id, name),
  check ((due_at is null) = (due_key is null) and (due_at is null) = (due_date is null))
);
create index scheduled_tasks_look on scheduled_tasks (look_at) where look_at is not null;
create index scheduled_tasks_claim on scheduled_tasks (claim) where lease_until is not null;

-- A page of the sweep, so that a repeated claim gets the same page.
create table sweep_pages (
  claim      text primary key,
  looked     int not null default 0,
  taken      int not null default 0,
  empty      int not null default 0,
  skipped    int not null default 0,
  more       boolean not null default false,
  created_at timestamptz not null default now()
);
create index sweep_pages_old on sweep_pages (created_at);

alter table scheduled_tasks enable row level security;
alter table scheduled_tasks force row level security;
create policy scheduled_tasks_app on scheduled_tasks to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert, delete on scheduled_tasks to cairn_app;
grant update (paused_at, due_at, due_date, due_key, slot_at, slot_date, slot_key, slot_outcome, slot_reason, claim, lease_until, updated_at, start_at) on scheduled_tasks to cairn_app;

-- The sweep has no workspace yet. It sees IDs, times and expressions, and determines from sequence
-- numbers whether there is anything to reflect on.
create policy scheduled_tasks_system_see on scheduled_tasks for select to cairn_system using (true);
create policy scheduled_tasks_system_advance on scheduled_tasks for update to cairn_system using (true);
-- Every workspace has the built-in tasks; the sweep plans them later.
create policy scheduled_tasks_definer on scheduled_tasks for insert to cairn_owner with check (kind <> 'turn');
grant select (workspace_id, id, kind, cron, time_zone, catch_up, paused_at, due_at, due_date, due_key, slot_at, slot_date, slot_key, slot_outcome, slot_reason, claim, lease_until, look_at, start_at), update (due_at, due_date, due_key, slot_at, slot_date, slot_key, slot_outcome, slot_reason, claim, lease_until, updated_at, start_at) on scheduled_tasks to cairn_system;

alter table sweep_pages enable row level security;
alter table sweep_pages force row level security;
create policy sweep_pages_system on sweep_pages to cairn_system using (true);
grant select, insert, update (looked, taken, empty, skipped, more), delete on sweep_pages to cairn_system;
