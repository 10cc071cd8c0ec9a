-- +goose Up
-- A scheduled prompt can be changed. The built-in tasks follow the settings.
grant update (cron, time_zone, prompt, channel, max_turns, catch_up, overlap, deliver_to) on scheduled_tasks to cairn_app;
