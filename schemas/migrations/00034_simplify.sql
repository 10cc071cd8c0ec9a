-- +goose Up
-- Statements return their outcome to the program, which decides.
drop function cairn.changed(bigint, bigint);
drop function cairn.hold_run(bigint, bigint);

-- The object of a package is deleted outside of a transaction.
alter table cairn.packages drop constraint packages_state_check,
  add constraint packages_state_check check (state in ('pending', 'live', 'condemned', 'deleting'));
