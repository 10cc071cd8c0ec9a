-- +goose Up
-- Statements return their outcome to the program, which decides.
drop function cairn.changed(bigint, bigint);
drop function cairn.hold_run(bigint, bigint);
