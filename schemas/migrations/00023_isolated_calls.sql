-- +goose Up
-- A call of a tool that runs in a sandboxed worker is of a class of its own.
alter table agent_calls drop constraint agent_calls_class_check;
alter table agent_calls add constraint agent_calls_class_check check (class in ('fast', 'slow', 'control', 'isolated'));
