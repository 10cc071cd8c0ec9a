-- name: SweepPageOpen :execrows
-- System role. Nothing is inserted for a known claim: its page is returned again.
insert into sweep_pages (claim) values (@claim::text) on conflict (claim) do nothing;

-- name: SweepPageGet :one
-- System role.
select looked, taken, empty, skipped, more from sweep_pages where claim = @claim::text;

-- name: SweepPageSet :exec
-- System role.
update sweep_pages set looked = @looked, taken = @taken, empty = @empty, skipped = @skipped, more = @more where claim = @claim::text;

-- name: SweepPagesForget :execrows
-- System role. Pages of earlier days are not used any more.
delete from sweep_pages where created_at < now() - interval '3 days';

-- name: SweepClaim :many
-- System role. Locks a page of due tasks and judges each: for a workspace without new turns, the
-- empty day is recorded here, and no workflow starts. If a date was reflected on before its end,
-- the rest of it is still due.
with due as (
  select t.workspace_id, t.id, t.kind, coalesce(t.cron, w.reflection_cron) as cron, coalesce(t.time_zone, w.time_zone) as zone, t.catch_up,
    t.due_at, t.due_date, t.due_key, t.slot_at, t.slot_date, t.slot_key, t.lease_until, w.key as workspace_key,
    t.kind <> 'reflection' or w.reflects as wanted, coalesce(w.quiet_from, '') as quiet_from, coalesce(w.quiet_to, '') as quiet_to, w.time_zone as home_zone
  from scheduled_tasks t join workspaces w on w.id = t.workspace_id and w.state = 'active'
  where t.look_at <= now() order by t.look_at limit @max_rows for update of t skip locked
), watermark as (
  select d.workspace_id, d.id, (select r.to_at from reflection_runs r where r.workspace_id = d.workspace_id and r.status in ('saved', 'nothing_to_save', 'empty', 'partial')
    order by r.local_date desc limit 1) as to_at from due d where d.kind = 'reflection'
), judged as (
  select d.*, k.to_at as reflected_to, case
    when d.lease_until is not null then case when d.wanted then 'again' else 'recalled' end
    when d.due_at is null then 'plan'
    when not d.wanted then 'off'
    when d.kind = 'reflection' and exists (select from reflection_runs r where r.workspace_id = d.workspace_id and r.local_date = d.due_date and r.to_at >= d.due_at) then 'collapsed'
    when d.kind = 'reflection' and not exists (select from conversations c left join conversation_marks m
      on m.workspace_id = c.workspace_id and m.conversation_id = c.id and m.kind = 'reflection'
      where c.workspace_id = d.workspace_id and (c.channel in ('voice', 'sms', 'chat') or c.channel = 'import' and c.dated) and c.next_seq > coalesce(m.seq + 1, 0)) then 'empty'
    when d.kind = 'curate' and not exists (select from skills s where s.workspace_id = d.workspace_id and s.managed and s.deleted_at is null) then 'empty'
    when d.kind = 'evolution' and not exists (select from cases c where c.workspace_id = d.workspace_id and c.state = 'open' and c.failures > 0)
      and not exists (select from decisions l where l.workspace_id = d.workspace_id and l.sampled and l.update_run is null)
      and not exists (select from policy_updates u where u.workspace_id = d.workspace_id and u.state = 'canary') then 'empty'
    else 'start' end as verdict
  from due d left join watermark k on k.workspace_id = d.workspace_id and k.id = d.id
), heard as (
  select j.*, j.kind = 'reflection' and j.verdict = 'empty'
    and exists (select from conversations c where c.workspace_id = j.workspace_id and c.last_turn_at > j.due_at - interval '7 days') and cairn.empty_week(j.workspace_id, j.due_at) as empty_week from judged j
), emptied as (
  insert into reflection_runs (workspace_id, local_date, zone, status, from_at, to_at, empty_week)
  select workspace_id, due_date, zone, 'empty', reflected_to, due_at, empty_week from heard where kind = 'reflection' and verdict = 'empty'
  on conflict (workspace_id, local_date) do nothing
)
select j.workspace_id, j.workspace_key, j.id, j.kind, j.cron, j.zone, extract(epoch from j.catch_up)::float8 as catch_up_seconds, coalesce(j.due_at, '0001-01-01 00:00:00+00'::timestamptz)::timestamptz as due_at,
  coalesce(j.due_date::text, '')::text as due_date, coalesce(j.due_key, '')::text as due_key, coalesce(j.slot_at, '0001-01-01 00:00:00+00'::timestamptz)::timestamptz as slot_at, coalesce(j.slot_date::text, '')::text as slot_date,
  coalesce(j.slot_key, '')::text as slot_key, coalesce(j.reflected_to, '0001-01-01 00:00:00+00'::timestamptz)::timestamptz as reflected_to, j.verdict::text as verdict,
  j.quiet_from::text as quiet_from, j.quiet_to::text as quiet_to, j.home_zone::text as home_zone, j.empty_week::boolean as empty_week, now()::timestamptz as at
from heard j;

-- name: SweepAdvance :execrows
-- System role, in the transaction of the claim: stores the next due time, the claimed slot and, for
-- a firing to be started, the lease.
update scheduled_tasks t set due_at = a.due_at, due_date = a.due_date::date, due_key = a.due_key, start_at = nullif(a.start_at, a.due_at),
  slot_at = case when a.slot_key = '' then t.slot_at else a.slot_at end, slot_date = case when a.slot_key = '' then t.slot_date else a.slot_date::date end,
  slot_key = case when a.slot_key = '' then t.slot_key else a.slot_key end, slot_outcome = case when a.slot_key = '' then t.slot_outcome else a.outcome end,
  slot_reason = case when a.slot_key = '' then t.slot_reason else a.reason end,
  claim = @claim::text, lease_until = case when a.held then now() + @lease::interval end, updated_at = now()
from (select unnest(@workspaces::bigint[]) as workspace_id, unnest(@ids::bigint[]) as id, unnest(@due_ats::timestamptz[]) as due_at, unnest(@due_dates::text[]) as due_date,
  unnest(@due_keys::text[]) as due_key, unnest(@start_ats::timestamptz[]) as start_at, unnest(@slot_ats::timestamptz[]) as slot_at, unnest(@slot_dates::text[]) as slot_date, unnest(@slot_keys::text[]) as slot_key,
  unnest(@outcomes::text[]) as outcome, unnest(@reasons::text[]) as reason, unnest(@helds::bool[]) as held) a
where t.workspace_id = a.workspace_id and t.id = a.id;

-- name: SweepRenew :execrows
-- System role. Slots whose lease expired before they ended are assigned to another page unchanged.
update scheduled_tasks t set claim = @claim::text, lease_until = now() + @lease::interval, updated_at = now()
from (select unnest(@workspaces::bigint[]) as workspace_id, unnest(@ids::bigint[]) as id) a
where t.workspace_id = a.workspace_id and t.id = a.id;

-- name: SweepHeld :many
-- System role. The slots that a page has claimed and not ended.
update scheduled_tasks t set lease_until = now() + @lease::interval
from workspaces w
where t.claim = @claim::text and t.lease_until is not null and w.id = t.workspace_id and w.state = 'active'
returning t.workspace_id, w.key as workspace_key, t.id, t.kind, coalesce(t.time_zone, w.time_zone) as zone, t.slot_at, t.slot_date::text as slot_date, t.slot_key,
  coalesce((select r.to_at from reflection_runs r where r.workspace_id = t.workspace_id and r.status in ('saved', 'nothing_to_save', 'empty', 'partial')
    order by r.local_date desc limit 1), '0001-01-01 00:00:00+00'::timestamptz)::timestamptz as reflected_to;

-- name: SweepSettle :execrows
-- System role. Only the page that holds a slot ends it.
update scheduled_tasks t set lease_until = null, slot_outcome = a.outcome, slot_reason = a.reason, updated_at = now()
from (select unnest(@workspaces::bigint[]) as workspace_id, unnest(@ids::bigint[]) as id, unnest(@outcomes::text[]) as outcome, unnest(@reasons::text[]) as reason) a
where t.workspace_id = a.workspace_id and t.id = a.id and t.claim = @claim::text and t.lease_until is not null;

-- name: SchedulePut :one
insert into scheduled_tasks (workspace_id, name, kind, cron, time_zone, prompt, channel, max_turns, catch_up, overlap, deliver_to, due_at, due_date, due_key)
values (@workspace_id, @name, 'turn', @cron, sqlc.narg(time_zone), @prompt, @channel, @max_turns, @catch_up, @overlap, @deliver_to, @due_at, to_date(@due_date::text, 'YYYY-MM-DD'), @due_key)
on conflict (workspace_id, name) do nothing returning id;

-- name: SchedulesCount :one
select count(*) from scheduled_tasks where workspace_id = @workspace_id;

-- name: SchedulesList :many
select t.id, t.name, t.kind, coalesce(t.cron, w.reflection_cron) as cron, coalesce(t.time_zone, w.time_zone) as zone, (t.time_zone is not null)::bool as zoned, t.prompt, t.channel, t.max_turns, extract(epoch from t.catch_up)::float8 as catch_up_seconds, t.overlap, t.deliver_to,
  (t.kind <> 'reflection' or w.reflects)::boolean as wanted, coalesce(w.quiet_from, '')::text as quiet_from, coalesce(w.quiet_to, '')::text as quiet_to, w.time_zone as home_zone, w.key as workspace_key,
  t.paused_at, t.due_at, t.start_at, coalesce(t.due_date::text, '')::text as due_date, coalesce(t.due_key, '')::text as due_key, t.slot_at, coalesce(t.slot_date::text, '')::text as slot_date, coalesce(t.slot_key, '')::text as slot_key, t.slot_outcome, t.slot_reason, (t.lease_until is not null)::bool as held, t.created_at, now()::timestamptz as at
from scheduled_tasks t join workspaces w on w.id = t.workspace_id
where t.workspace_id = @workspace_id and (@name::text = '' or t.name = @name::text) and (@id::bigint = 0 or t.id = @id::bigint) order by t.kind <> 'reflection', t.name;

-- name: SchedulePause :execrows
update scheduled_tasks set paused_at = coalesce(paused_at, now()), updated_at = now() where workspace_id = @workspace_id and id = @id;

-- name: ScheduleResume :execrows
-- Firings that came due meanwhile are not made up for.
update scheduled_tasks set paused_at = null, start_at = null, due_at = @due_at, due_date = to_date(@due_date::text, 'YYYY-MM-DD'), due_key = @due_key, updated_at = now()
where workspace_id = @workspace_id and id = @id and paused_at is not null;

-- name: SchedulesRestart :exec
-- Firings postponed by quiet hours are checked when they are due: the sweep then decides again.
update scheduled_tasks set start_at = null, updated_at = now() where workspace_id = @workspace_id and start_at is not null;

-- name: SchedulePlan :execrows
update scheduled_tasks set start_at = null, due_at = @due_at, due_date = to_date(@due_date::text, 'YYYY-MM-DD'), due_key = @due_key, updated_at = now() where workspace_id = @workspace_id and id = @id;

-- name: ScheduleRemove :execrows
delete from scheduled_tasks where workspace_id = @workspace_id and id = @id and kind = 'turn';

-- name: ScheduleOpenTurn :one
-- Whether a turn of a conversation, except that of one message, has no reply yet.
select exists (select from conversations c join turns t on t.workspace_id = c.workspace_id and t.conversation_id = c.id
  where c.workspace_id = @workspace_id and c.external_id = @conversation and t.status = 'accepted' and t.message_id <> @message_id);

-- name: ReflectedTo :one
-- The watermark of the daily reflection: the end of the last processed window.
select to_at from reflection_runs where workspace_id = @workspace_id and status in ('saved', 'nothing_to_save', 'empty', 'partial') order by local_date desc limit 1;

-- name: DatabaseTime :one
select now()::timestamptz as at;

-- name: ScheduleChange :execrows
-- A firing that is due already keeps its slot. Firings of the former schedule that are not due yet do not happen.
update scheduled_tasks set cron = @cron, time_zone = sqlc.narg(time_zone), prompt = @prompt, channel = @channel, max_turns = @max_turns, catch_up = @catch_up,
  overlap = @overlap, deliver_to = @deliver_to, start_at = null, due_at = @due_at, due_date = to_date(@due_date::text, 'YYYY-MM-DD'), due_key = @due_key, updated_at = now()
where workspace_id = @workspace_id and id = @id and kind = 'turn';
