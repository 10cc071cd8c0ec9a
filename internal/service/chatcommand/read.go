package chatcommand

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/service/channel"
	"cairn/internal/service/library"
	"cairn/internal/service/memory"
)

// shown is the most lines of a list.
const shown = 20

// list returns a reply with the lines of a list, or a text if it is empty.
func list(title, empty string, lines []string) channel.CommandReply {
	if len(lines) == 0 {
		return channel.CommandReply{Text: empty}
	}
	if rest := len(lines) - shown; rest > 0 {
		lines = append(lines[:shown:shown], fmt.Sprintf("… (+%d)", rest))
	}
	return channel.CommandReply{Text: title + "\n" + strings.Join(lines, "\n")}
}

func (s *Service) memory(ctx context.Context, in channel.CommandInput) (out channel.CommandReply, err error) {
	var lines []string
	if in.Rest != "" {
		found, err := s.Memories.Search(ctx, actor(in), memory.SearchArgs{Query: in.Rest, K: shown})
		if err != nil {
			return out, err
		}
		for _, r := range found.Results {
			lines = append(lines, "- "+r.Content)
		}
		return list(pick(in, "I found:", "我找到："), pick(in, "I found nothing.", "没有找到。"), lines), nil
	}
	all, err := s.Memories.List(ctx, actor(in), memory.ListArgs{})
	if err != nil {
		return out, err
	}
	for _, e := range all.Entries {
		lines = append(lines, "- "+e.Content)
	}
	return list(pick(in, "I remember:", "我记得："), pick(in, "I remember nothing yet. Send /memory and a word to search "+
		"long-term memories.", "我还没有记忆。发送 /memory 加词语可搜索长期记忆。"), lines), nil
}

func (s *Service) skills(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	page, err := s.Skills.List(ctx, in.Workspace.ID, library.Filter{Limit: shown})
	var lines []string
	for _, h := range page.Skills {
		lines = append(lines, fmt.Sprintf("- %s (%s): %s", h.Name, h.Status, h.Description))
	}
	return list(
		pick(in, "Skills:", "技能："),
		pick(in, "There are no skills yet. /distill makes some of this conversation.",
			"还没有技能。/distill 可从本次对话提炼。"),
		lines,
	), err
}

func (s *Service) soul(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	soul, err := s.Memories.SoulGet(ctx, actor(in))
	if soul.Content == "" {
		return say(in, "No behavior is set.", "尚未设定行为准则。"), err
	}
	return channel.CommandReply{Text: soul.Content}, err
}

func (s *Service) settings(ctx context.Context, in channel.CommandInput) (out channel.CommandReply, err error) {
	if in.Rest != "" {
		patch, err := patchOf(strings.Fields(in.Rest))
		if err != nil {
			return out, err
		}
		if _, err := s.Workspaces.ChangeSettings(ctx, in.Workspace.ID, patch); err != nil {
			return out, err
		}
	}
	now, err := s.Workspaces.Settings(ctx, in.Workspace.ID)
	if err != nil {
		return out, err
	}
	quiet := pick(in, "none", "无")
	if now.QuietHours.From != "" {
		quiet = now.QuietHours.From + "–" + now.QuietHours.To
	}
	return say(
		in,
		fmt.Sprintf("Time zone: %s\nQuiet hours: %s\nDaily reflection: %t", now.TimeZone, quiet, now.Reflection),
		fmt.Sprintf("时区：%s\n安静时段：%s\n每日整理：%t", now.TimeZone, quiet, now.Reflection),
	), nil
}

// patchOf returns the change that a command describes.
func patchOf(words []string) (json.RawMessage, error) {
	var patch map[string]any
	switch {
	case len(words) == 2 && words[0] == "time_zone":
		patch = map[string]any{"time_zone": words[1]}
	case len(words) == 3 && words[0] == "quiet":
		patch = map[string]any{"quiet_hours": map[string]string{"from": words[1], "to": words[2]}}
	case len(words) == 2 && words[0] == "quiet" && words[1] == "none":
		patch = map[string]any{"quiet_hours": map[string]string{"from": "", "to": ""}}
	default:
		return nil, fault.New(fault.InvalidArgument, "unknown setting",
			"send /settings time_zone Europe/Berlin, /settings quiet 22:00 07:00 or /settings quiet none")
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	return raw, nil
}

func (s *Service) schedule(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	tasks, err := s.Schedules.List(ctx, in.Workspace.ID)
	var lines []string
	for _, t := range tasks {
		next := "—"
		if t.DueAt != nil {
			next = t.DueAt.Format(time.DateOnly + " 15:04 MST")
		}
		lines = append(lines, fmt.Sprintf("- %s (%s), %s", t.Name, t.Cron, next))
	}
	return list(pick(in, "Scheduled tasks:", "定时任务："), pick(in, "There are no tasks.", "没有任务。"), lines), err
}

// usageDays are the days of /usage.
const usageDays = 30

func (s *Service) usage(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	used, err := s.Workspaces.Insights(ctx, in.Workspace.ID, usageDays)
	var runs, tokens, micros int64
	for _, k := range used.Runs {
		runs, tokens, micros = runs+int64(k.Runs), tokens+k.Tokens, micros+k.Micros
	}
	const microsPerDollar = 1e6
	cost := float64(micros) / microsPerDollar
	return say(in, fmt.Sprintf("30 days: %d runs, %d tokens, $%.2f.", runs, tokens, cost),
		fmt.Sprintf("30 天：%d 次运行，%d 个词元，$%.2f。", runs, tokens, cost)), err
}

func (s *Service) runs(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	latest, err := s.Runs.List(ctx, in.Workspace.ID, shown)
	var lines []string
	for _, r := range latest {
		lines = append(lines, fmt.Sprintf("- %s %s: %s %s", r.Ref.Run, r.Kind, r.Status, r.Outcome))
	}
	return list(pick(in, "The latest runs:", "最近的运行："), pick(in, "There are no runs.", "没有运行。"), lines), err
}
