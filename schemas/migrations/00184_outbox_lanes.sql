-- +goose Up
-- Tasks of the outbox are claimed by kind, so that many tasks of one kind delay no task of another. A run that a
-- caller waits for has a kind of its own.
alter table outbox drop constraint outbox_kind_check;
alter table outbox add check (kind in ('turn', 'drive', 'embed', 'settings', 'event', 'deliver', 'report', 'import', 'trace'));

alter table outbox no force row level security;
alter table runs no force row level security;
update outbox o set kind = 'turn' from runs r
where o.kind = 'drive' and r.workspace_id = o.workspace_id and r.id = o.key and r.kind in ('turn', 'completion', 'retrieve');
alter table runs force row level security;
alter table outbox force row level security;

update erase_rules set scope = replace(scope, $$t.kind = 'drive'$$, $$t.kind in ('turn', 'drive')$$) where tbl = 'outbox';

create index outbox_lane on outbox (kind, due_at);
drop index outbox_due;
