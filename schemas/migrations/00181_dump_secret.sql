-- +goose Up
-- The secret of this deployment from which the key of its dumps is derived. A load keeps the origins
-- that a dump states only if the dump was signed with this key. Two random UUIDs have 244 random bits.
alter table store_state add column dump_secret bytea not null
  default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
