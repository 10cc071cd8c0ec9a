-- +goose Up
-- Evaluations of memory skills are runs.
alter table runs drop constraint runs_kind_check;
alter table runs add constraint runs_kind_check check (kind in ('distill', 'turn', 'nudge', 'summarize', 'specialist', 'retrieve', 'completion', 'reflection', 'build', 'train', 'evolve', 'adapt', 'probe', 'offload', 'flush', 'evaluate'));
