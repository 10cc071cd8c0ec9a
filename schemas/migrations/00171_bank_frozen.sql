-- +goose Up
-- A frozen bank keeps its active version: it is neither trained nor changed until it is unfrozen.
alter table banks add column frozen_at timestamptz;
grant update (frozen_at) on banks to cairn_app;
