-- name: AccountPut :exec
-- System role.
insert into channel_accounts (name, platform, profile) values (@name, @platform, @profile)
on conflict (name) do update set platform = excluded.platform, profile = excluded.profile;

-- name: AccountAdd :exec
-- System role.
insert into channel_accounts (name, platform) values (@name, @platform) on conflict (name) do nothing;

-- name: AccountProfile :one
-- System role.
select profile from channel_accounts where name = @name;

-- name: AccountLease :many
-- System role. Takes or extends the lease of an account that is free, expired or held, and returns the cursor.
update channel_accounts set holder = @holder, lease_until = now() + @lease::interval
where name = @name and (holder is null or holder = @holder or lease_until <= now())
returning cursor;

-- name: AccountRelease :exec
update channel_accounts set holder = null, lease_until = '-infinity' where name = @name and holder = @holder;

-- name: AccountCursor :execrows
-- System role. Stores nothing if another process has taken the account.
update channel_accounts set cursor = @cursor where name = @name and holder = @holder;

-- name: IdentityFind :one
-- System role.
select i.workspace_id, i.role, w.key, w.external_id, w.state from identities i join workspaces w on w.id = i.workspace_id
where i.account = @account and i.kind = @kind and i.user_id = @user_id;

-- name: IdentityFirst :one
-- System role. Whether an account has no user yet. An account whose administrator was blocked gets no other one.
select not exists (select from identities where account = @account and kind = 'user') as first;

-- name: IdentityPut :execrows
insert into identities (account, kind, user_id, workspace_id, name, role)
values (@account, @kind, @user_id, @workspace_id, @name, @role)
on conflict (account, kind, user_id) do nothing;

-- name: IdentityMove :execrows
-- System role.
update identities set workspace_id = @workspace_id where account = @account and kind = 'user' and user_id = @user_id;

-- name: WorkspaceRemembers :one
-- Whether a workspace has memories of any kind.
select exists (select from memories m where m.workspace_id = @workspace_id) as remembers;

-- name: IdentityRole :execrows
update identities set role = @role where workspace_id = @workspace_id and account = @account and kind = @kind and user_id = @user_id;

-- name: IdentitiesList :many
-- System role.
select i.account, i.kind, i.user_id, i.name, i.role, i.created_at, w.external_id as workspace from identities i
join workspaces w on w.id = i.workspace_id order by i.account, i.kind desc, i.created_at, i.user_id;

-- name: PairingPut :one
-- System role. Stores a code for a user; one that is still valid is kept. Returns nothing if the account has too
-- many codes, or if the user got one within the last hour.
insert into pairings (account, user_id, name, code, purpose, expires_at)
select @account, @user_id, @name, @code, 'approve', now() + interval '1 hour'
where (select count(*) from pairings p where p.account = @account and p.purpose = 'approve' and p.user_id <> @user_id and p.expires_at > now()) < @most::int
on conflict (account, user_id) do update set name = excluded.name, code = excluded.code, purpose = excluded.purpose, expires_at = excluded.expires_at, used_by = '', told_at = now()
  where pairings.told_at <= now() - interval '1 hour'
returning code;

-- name: LinkPut :exec
-- System role. Stores the code with which a known user links another platform.
insert into pairings (account, user_id, name, code, purpose, expires_at)
values (@account, @user_id, @name, @code, 'link', now() + interval '10 minutes')
on conflict (account, user_id) do update set code = excluded.code, purpose = excluded.purpose, expires_at = excluded.expires_at, used_by = '', told_at = now();

-- name: LinkClaim :one
-- System role. The first user who sends a code gets it, also when the request is repeated.
update pairings set used_by = @used_by where code = @code and purpose = 'link' and expires_at > now() and used_by in ('', @used_by)
returning account, user_id;

-- name: PairingsPurge :execrows
-- System role.
delete from pairings where expires_at < now() - interval '1 day';

-- name: EventsPurge :execrows
-- System role. Its policies show only what has expired.
delete from channel_events where (workspace_id, id) in (
  select workspace_id, id from channel_events where state = 'handled' order by received_at limit @max_rows);

-- name: DeliveriesPurge :execrows
-- System role. Its policies show only what has expired. The messages of the deliveries are deleted with them.
delete from deliveries where (workspace_id, id) in (
  select workspace_id, id from deliveries where state in ('sent', 'dropped') order by ended_at limit @max_rows);

-- name: PairingsList :many
-- System role.
select account, user_id, name, code, expires_at from pairings where purpose = 'approve' and expires_at > now() order by account, expires_at;

-- name: PairingDelete :exec
-- System role.
delete from pairings where account = @account and user_id = @user_id;

-- name: RouteOpen :one
-- Finds or makes the route of a place.
insert into channel_routes (workspace_id, account, chat, thread, conversation)
values (@workspace_id, @account, @chat, @thread, @conversation)
on conflict (workspace_id, account, chat, thread) do update set paused = ''
returning id, exists (select from channel_routes o where o.workspace_id = @workspace_id and o.account = @account and o.chat = @chat
  and o.thread = @thread and o.paused <> '') as resumed;

-- name: RouteNamed :one
-- Whether a workspace has a chat: account/chat or account/chat/thread.
select exists (select from channel_routes r where r.workspace_id = @workspace_id
  and r.account || '/' || r.chat || case when r.thread = '' then '' else '/' || r.thread end = @name::text) as known;

-- name: RouteNext :exec
-- Begins another conversation in a place.
update channel_routes set conversations = conversations + 1, conversation = name || '#' || (conversations + 1)
where workspace_id = @workspace_id and id = @id;

-- name: EventPut :one
-- Returns nothing if the event is stored already.
insert into channel_events (workspace_id, account, key, route_id, message_id, body, files_until)
values (@workspace_id, @account, @key, @route_id, @message_id, @body, case when @files::boolean then timestamptz '-infinity' end)
on conflict (workspace_id, account, key) do nothing returning id;

-- name: EventFilesClaim :many
-- System role: lets this process read the files of the oldest events of an account for a time.
update channel_events e set files_until = now() + @lease::interval where e.files_until is not null and (e.workspace_id, e.id) in (
  select f.workspace_id, f.id from channel_events f where f.account = @account and f.files_until < now()
  order by f.received_at limit @max_rows for update skip locked)
returning e.workspace_id, e.id;

-- name: EventFilesGet :one
-- The event whose files are to be read. Returns nothing if it is handled without them.
select route_id, body from channel_events
where workspace_id = @workspace_id and id = @id and files_until is not null and first_id is null;

-- name: EventFilesPut :execrows
-- Stores what is known of the files of an event, unless it is handled without them.
update channel_events set body = @body, files_until = case when @open::boolean then now() + @lease::interval end
where workspace_id = @workspace_id and id = @id and files_until is not null and first_id is null;

-- name: RouteLock :one
-- Keeps events of the route from being stored until the transaction ends.
select conversation from channel_routes where workspace_id = @workspace_id and id = @id for no key update;

-- name: EventsOpen :many
-- The first events of a route that are not handled, with their age.
select id, first_id, body, extract(epoch from now() - received_at)::float8 as age_seconds,
  (files_until is not null)::boolean as files_open from channel_events
where workspace_id = @workspace_id and route_id = @route_id and state = 'received' order by id limit @max_rows;

-- name: EventsJoin :exec
-- Makes events one burst, so that a repetition handles the same ones.
update channel_events set first_id = @first_id, files_until = null where workspace_id = @workspace_id and id = any(@ids::bigint[]);

-- name: EventsHandled :many
-- Returns the route, unless the events were handled before.
update channel_events set state = 'handled', body = '{}', files_until = null where workspace_id = @workspace_id and id = any(@ids::bigint[]) and state = 'received'
returning route_id;

-- name: EventSaid :exec
-- Stores the ID of the message in its conversation.
update channel_events set said_as = @said_as where workspace_id = @workspace_id and id = @id;

-- name: MessageWithdraw :many
-- Removes the text of a message from its conversation, also an earlier one of the place, and returns the position of
-- the message.
select w.conversation_id::bigint as conversation_id, w.seq::int as seq from channel_events e
join channel_routes r on r.workspace_id = e.workspace_id and r.id = e.route_id
cross join generate_series(1, r.conversations) n
cross join lateral cairn.withdraw_message(r.name || case when n > 1 then '#' || n else '' end, e.said_as) w
where e.workspace_id = @workspace_id and e.route_id = @route_id and e.message_id = @message_id and e.said_as <> '';

-- name: ConversationUntitle :exec
update conversations set title = '' where workspace_id = @workspace_id and id = @id;

-- name: DeliveryPut :one
-- Returns nothing if the source has a delivery.
insert into deliveries (workspace_id, route_id, source, body) values (@workspace_id, @route_id, @source, @body)
on conflict (workspace_id, source) do nothing returning id;

-- name: DeliveryHome :one
-- Makes a delivery to the home chat, if there is one. It waits for the end of the quiet hours.
insert into deliveries (workspace_id, route_id, source, waits, body)
select r.workspace_id, r.id, @source, true, @body from channel_routes r where r.workspace_id = @workspace_id and r.home
on conflict (workspace_id, source) do nothing returning route_id;

-- name: RouteLeaveHome :exec
-- Makes another route than the given one no longer the home chat.
update channel_routes set home = false where workspace_id = @workspace_id and home and id <> @id;

-- name: RouteHome :exec
update channel_routes set home = true where workspace_id = @workspace_id and id = @id;

-- name: DeliveryOfTurn :one
-- Makes the delivery of the reply of an ended turn, if its conversation belongs to a chat, also after /new. The reply of a scheduled
-- task is sent to the task's chat, else to the home chat, and waits for the end of the quiet hours. A partial reply becomes
-- the delivery. Without a text, and if the reply is withdrawn, this deletes it. The caller has locked the run, so no partial reply begins in between.
insert into deliveries (workspace_id, route_id, source, waits, body)
select @workspace_id, r.id, 'turn/' || @run_id::text, @scheduled::boolean, jsonb_build_object('text', case when @withdrawn::boolean then '' else m.content end)
from conversations c
left join scheduled_tasks t on @scheduled::boolean and t.workspace_id = c.workspace_id and c.external_id = 'schedule/' || t.name || '/' || t.id
join channel_routes r on r.workspace_id = c.workspace_id and case
  when not @scheduled::boolean then r.name = regexp_replace(c.external_id, '#[0-9]+$', '')
  when coalesce(t.deliver_to, '') = '' then r.home
  else r.account || '/' || r.chat || case when r.thread = '' then '' else '/' || r.thread end = t.deliver_to end
join messages m on m.workspace_id = c.workspace_id and m.conversation_id = c.id and m.seq = @seq::int
where c.workspace_id = @workspace_id and c.id = @conversation_id and (m.content <> '' and not @withdrawn::boolean or exists (select from deliveries s
  where s.workspace_id = c.workspace_id and s.source = 'turn/' || @run_id::text and s.state = 'streaming'))
on conflict (workspace_id, source) do update set state = 'ready', body = excluded.body where deliveries.state = 'streaming'
returning route_id;

-- name: PartialBegin :one
-- Lets a process change the partial reply of an open run for a time. The first time makes its row. Returns nothing if the run has
-- ended, if another process may be changing it, or if an earlier message of the route is not sent: it is to be shown first.
insert into deliveries (workspace_id, route_id, source, state, body, partial_id, partial_until)
select r.workspace_id, c.id, 'turn/' || r.id, 'streaming', '{}', case when @message::boolean then '' end, now() + @lease::interval
from runs r join channel_routes c on c.workspace_id = r.workspace_id and c.id = @route_id and c.paused = ''
where r.workspace_id = @workspace_id and r.id = @run_id and r.status <> 'ended' and not exists (
  select from deliveries o where o.workspace_id = r.workspace_id and o.route_id = c.id and o.state = 'ready')
for share of r
on conflict (workspace_id, source) do update set partial_until = excluded.partial_until
  where deliveries.state = 'streaming' and coalesce(deliveries.partial_until <= now(), true)
returning partial_id, (xmax = 0)::boolean as first;

-- name: PartialOpen :one
-- Whether a run may get partial text.
select exists (select from runs r where r.workspace_id = @workspace_id and r.id = @run_id and r.status <> 'ended') as open;

-- name: PartialEnd :exec
update deliveries set partial_id = sqlc.narg('partial_id'), partial_until = null
where workspace_id = @workspace_id and source = 'turn/' || @run_id::text;

-- name: RouteOpenWork :one
select r.account, (r.paused = '' and exists (select from deliveries d where d.workspace_id = r.workspace_id and d.route_id = r.id and d.state = 'ready'))::boolean as open
from channel_routes r where r.workspace_id = @workspace_id and r.id = @id;

-- name: DeliveryNext :one
-- The first delivery of a route that is not sent; in quiet hours, the first that does not wait for their end.
select d.id from deliveries d
join channel_routes r on r.workspace_id = d.workspace_id and r.id = d.route_id
where d.workspace_id = @workspace_id and d.route_id = @route_id and d.state = 'ready' and r.paused = '' and not (d.waits and @quiet::boolean)
order by d.id limit 1;

-- name: DeliveryGet :one
-- Busy is the time for which a process may be changing its partial reply.
select d.id, d.source, d.body, d.state, d.partial_id, greatest(extract(epoch from d.partial_until - now()), 0)::float8 as busy_seconds,
  r.id as route_id, r.account, r.chat, r.thread
from deliveries d
join channel_routes r on r.workspace_id = d.workspace_id and r.id = d.route_id
where d.workspace_id = @workspace_id and d.id = @id;

-- name: PartsPut :exec
insert into delivery_parts (workspace_id, delivery_id, number, body)
select @workspace_id, @delivery_id, o.number, o.body from unnest(@bodies::text[]) with ordinality o (body, number)
on conflict (workspace_id, delivery_id, number) do nothing;

-- name: PartsCount :one
select count(*) from delivery_parts where workspace_id = @workspace_id and delivery_id = @delivery_id;

-- name: PartNext :one
-- The first message of a delivery that was not sent. Counts the attempt.
update delivery_parts p set attempts = p.attempts + 1
where p.workspace_id = @workspace_id and p.delivery_id = @delivery_id and p.number = (
  select min(n.number) from delivery_parts n where n.workspace_id = @workspace_id and n.delivery_id = @delivery_id and n.sent_at is null)
returning p.number, p.body, p.attempts;

-- name: PartRefused :exec
-- The platform did not accept the message, so the attempt had no effect.
update delivery_parts set attempts = attempts - 1
where workspace_id = @workspace_id and delivery_id = @delivery_id and number = @number and sent_at is null;

-- name: PartSent :exec
update delivery_parts set message_id = @message_id, sent_at = now(), body = ''
where workspace_id = @workspace_id and delivery_id = @delivery_id and number = @number and sent_at is null;

-- name: DeliveryEnd :one
update deliveries set state = @state, reason = @reason, ended_at = now(), body = case when @state::text = 'dead' then body else '{}' end
where workspace_id = @workspace_id and id = @id and state = 'ready' returning route_id;

-- name: RoutePause :exec
update channel_routes set paused = @paused where workspace_id = @workspace_id and id = @id;

-- name: DeliveryRetry :one
update deliveries set state = 'ready', reason = '', ended_at = null where workspace_id = @workspace_id and id = @id and state = 'dead'
returning route_id;

-- name: DeliveryDrop :execrows
update deliveries set state = 'dropped', body = '{}', ended_at = now() where workspace_id = @workspace_id and id = @id and state in ('ready', 'dead');

-- name: DeliveriesList :many
select d.id, d.source, d.state, d.reason, d.created_at, d.ended_at, r.account, r.chat, r.thread,
  coalesce((select max(p.attempts) from delivery_parts p where p.workspace_id = d.workspace_id and p.delivery_id = d.id), 0)::int as attempts
from deliveries d join channel_routes r on r.workspace_id = d.workspace_id and r.id = d.route_id
where d.workspace_id = @workspace_id and (@state::text = '' or d.state = @state)
  and (@before::bigint = 0 or ((d.state = 'dead'), d.id) < (@before_dead::boolean, @before::bigint))
order by (d.state = 'dead') desc, d.id desc limit @max_rows;

-- name: IdentitiesOf :many
select account, kind, user_id, name, role, created_at from identities where workspace_id = @workspace_id order by account, kind desc, created_at, user_id limit @max_rows;
