-- +goose Up
-- The files of a received message are read after the platform may forget it, by a process of its account, which any
-- process can be.

-- Until when a process reads the files of the event; -infinity: none does. Null: no file is to be read any more.
alter table channel_events add column files_until timestamptz,
  add check (state = 'received' or files_until is null);
create index channel_events_files on channel_events (account, received_at) where files_until is not null;

create policy channel_events_system_files on channel_events for select to cairn_system using (files_until is not null);
create policy channel_events_system_claim on channel_events for update to cairn_system using (files_until is not null);
grant select (account, files_until), update (files_until) on channel_events to cairn_system;
