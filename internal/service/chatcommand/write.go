package chatcommand

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cairn/internal/domain/approval"
	domain "cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/channel"
	"cairn/internal/service/distill"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/reflection"
)

func (s *Service) stop(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	asked, err := s.Conversations.Cancel(ctx, in.Workspace, in.Conversation, "")
	if err != nil && fault.CodeOf(err) != fault.NotFound { // without messages there is no conversation
		return channel.CommandReply{}, err
	}
	if !asked {
		return say(in, "No reply is in progress.", "没有正在生成的回复。"), nil
	}
	return say(in, "Stopped.", "已停止。"), nil
}

const (
	maxLines  = 2000 // latest messages of a conversation that a command uses
	pageLines = 500
)

// lines returns the latest messages of the conversation. It has none before the first message.
func (s *Service) lines(ctx context.Context, in channel.CommandInput) (out []transcript.Message, err error) {
	for after := -1; ; {
		page, err := s.Conversations.Lines(ctx, in.Workspace.ID, in.Conversation, after, pageLines)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return nil, err
		}
		for _, l := range page {
			out = append(out, transcript.Message{Role: l.Role, Content: l.Content, Name: l.Name, ToolCalls: l.ToolCalls,
				ToolCallID: l.ToolCallID, Time: l.CreatedAt})
		}
		if len(page) < pageLines {
			return out[max(0, len(out)-maxLines):], nil
		}
		after = page[len(page)-1].Seq
	}
}

func (s *Service) retry(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	all, err := s.lines(ctx, in)
	if err != nil {
		return channel.CommandReply{}, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == transcript.User && all[i].Content != "" {
			return channel.CommandReply{Ask: all[i].Content}, nil
		}
	}
	return say(in, "There is no message to answer.", "没有可回答的消息。"), nil
}

func (s *Service) remember(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	if in.Rest == "" {
		return say(in, "Send the memory with the command, as in /remember I am vegetarian.",
			"请把内容写在命令后，例如 /remember 我吃素。"), nil
	}
	store := "profile"
	if in.Group {
		store = "core"
	}
	w, err := s.Memories.Save(ctx, actor(in), memories.SaveArgs{Content: in.Rest, Store: store})
	switch {
	case err != nil:
		return channel.CommandReply{}, err
	case w.Pending != 0:
		return say(in, fmt.Sprintf("It waits for approval: /approve m%d", w.Pending),
			fmt.Sprintf("等待批准：/approve m%d", w.Pending)), nil
	}
	return say(in, "Saved.", "已保存。"), nil
}

// memoryID matches the argument with which a button of /forget names a memory.
var memoryID = regexp.MustCompile(`^(\w+):([0-9a-f]{16})$`)

// forget shows the memories that match a text, with a button that deletes each.
func (s *Service) forget(ctx context.Context, in channel.CommandInput) (out channel.CommandReply, err error) {
	if m := memoryID.FindStringSubmatch(in.Rest); m != nil {
		return s.deleted(ctx, in, memory.Type(m[1]), m[2])
	}
	if in.Rest == "" {
		return say(in, "Send words of the memory with the command.", "请把记忆中的词语写在命令后。"), nil
	}
	const most = 5
	found, err := s.Memories.Search(ctx, actor(in),
		memories.SearchArgs{Query: in.Rest, K: most, Sources: []string{"memory"}})
	if err != nil {
		return out, err
	}
	var lines []string
	for i, r := range found.Results {
		data := fmt.Sprintf("%s:%s", r.Type, r.ID)
		lines = append(lines, fmt.Sprintf("%d. %s — /forget %s", i+1, r.Content, data))
		out.Buttons = append(out.Buttons, domain.Choice{Label: pick(in, "Delete ", "删除 ") + strconv.Itoa(i+1),
			Data: "forget " + data})
	}
	buttons := out.Buttons
	out = list(pick(in, "Which one do I delete?", "删除哪一条？"), pick(in, "I found nothing.", "没有找到。"), lines)
	out.Buttons = buttons
	return out, nil
}

func (s *Service) deleted(ctx context.Context, in channel.CommandInput, t memory.Type, id string) (
	out channel.CommandReply, err error) {
	if t == memory.Core || t == memory.Profile {
		_, err = s.Memories.Remove(ctx, actor(in), memories.RemoveArgs{Store: string(t), Match: id})
	} else {
		var results []memories.ItemResult
		results, err = s.LongTerm.DeleteMemories(ctx, actor(in), []memories.DeleteRequest{{ID: id}})
		if err == nil && len(results) == 1 && results[0].Code != "" {
			err = fault.New(results[0].Code, results[0].Message, results[0].Hint)
		}
	}
	if code := fault.CodeOf(err); code == fault.NotFound || code == fault.NoMatch { // by another press of the button
		return say(in, "It was deleted before.", "此前已删除。"), nil
	}
	return say(in, "Deleted.", "已删除。"), err
}

func (s *Service) distill(ctx context.Context, in channel.CommandInput) (out channel.CommandReply, err error) {
	all, err := s.lines(ctx, in)
	if err != nil {
		return out, err
	}
	if len(all) == 0 {
		return say(in, "There is nothing to distill yet.", "还没有可提炼的内容。"), nil
	}
	r, _, err := s.Distills.Accept(ctx, distill.Request{
		Workspace:    in.Workspace.ID,
		WorkspaceKey: in.Workspace.Key,
		ID:           "chat/" + in.Key,
		ByID:         true,
		Channel:      "import",
		Spec:         s.DistillSpec(),
		Conversation: transcript.Conversation{
			ID:       in.Conversation + "/" + in.Key,
			Title:    in.Conversation,
			Messages: all,
		},
	})
	if err != nil {
		return out, err
	}
	return s.started(ctx, in, r)
}

func (s *Service) summarize(ctx context.Context, in channel.CommandInput) (out channel.CommandReply, err error) {
	all, err := s.lines(ctx, in)
	if err != nil {
		return out, err
	}
	if len(all) == 0 {
		return say(in, "There is nothing to summarize yet.", "还没有可总结的内容。"), nil
	}
	r, err := s.Summaries.Summarize(ctx, memoryagent.Request{
		Workspace:    in.Workspace.ID,
		WorkspaceKey: in.Workspace.Key,
		ID:           "chat/" + in.Key,
		ByID:         true,
		Messages:     all,
		Spec:         s.TurnSpec(),
	})
	if err != nil {
		return out, err
	}
	return s.started(ctx, in, r)
}

func (s *Service) reflect(ctx context.Context, in channel.CommandInput) (out channel.CommandReply, err error) {
	opened, err := s.Reflections.Now(ctx, in.Workspace, reflection.DateRequest{})
	if err != nil {
		return out, err
	}
	if opened.Ended != nil {
		return say(in, "Everything of today was read.", "今天的内容都已整理。"), nil
	}
	return s.started(ctx, in, opened.Run)
}

// started starts a stored run. Its result is sent to the chat when it ends.
func (s *Service) started(ctx context.Context, in channel.CommandInput, r run.Run) (channel.CommandReply, error) {
	if s.Starter != nil {
		_ = s.Starter.Start(ctx, in.Workspace.Key, "", r) // else the relay starts it
	}
	out := say(in, "Started. I send the result here.", "已开始。结果将发到这里。")
	out.Run = r.Ref.Run
	return out, nil
}

func (s *Service) approve(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	if in.Rest == "" {
		return s.waiting(ctx, in)
	}
	return s.decide(ctx, in, true)
}

func (s *Service) reject(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	if in.Rest == "" {
		return s.waiting(ctx, in)
	}
	return s.decide(ctx, in, false)
}

// waiting lists the inbox.
func (s *Service) waiting(ctx context.Context, in channel.CommandInput) (out channel.CommandReply, err error) {
	items, err := s.Inbox.List(ctx, actor(in), shown)
	if err != nil {
		return out, err
	}
	var lines []string
	for _, i := range items {
		if i.State == "pending" {
			lines = append(lines, fmt.Sprintf("- %s: %s %s: %s (%s)", i.ID, i.Kind, i.Title, i.Summary, i.Reason))
		}
	}
	return list(pick(in, "These items wait. Send /approve or /reject with the ID:",
		"以下项目等待批准。请发送 /approve 或 /reject 加编号："), pick(in, "Nothing waits for approval.", "没有待批准的项目。"), lines), nil
}

func (s *Service) decide(ctx context.Context, in channel.CommandInput, yes bool) (out channel.CommandReply, err error) {
	if yes {
		_, err = s.Inbox.Approve(ctx, actor(in), in.Rest, approval.Decision{})
	} else {
		_, err = s.Inbox.Reject(ctx, actor(in), in.Rest)
	}
	switch {
	case fault.CodeOf(err) == fault.NotFound: // by another press of the button
		return say(in, "There is no such change, or it was decided before.", "没有此更改，或此前已决定。"), nil
	case err != nil:
		return out, err
	case yes:
		return say(in, "Approved.", "已批准。"), nil
	}
	return say(in, "Rejected.", "已拒绝。"), nil
}

// Report returns what a run that a command has started has done. Done is false until it has ended.
func (s *Service) Report(ctx context.Context, ref run.Ref) (text string, done bool, err error) {
	r, err := s.Runs.Report(ctx, ref)
	if err != nil || r.Report.Status != run.Ended {
		return "", false, err
	}
	title := strings.ToUpper(string(r.Kind[:1])) + string(r.Kind[1:])
	lines := []string{fmt.Sprintf("%s ended: %s", title, r.Report.Outcome)}
	if r.Report.Reason != "" {
		lines[0] += " (" + r.Report.Reason + ")"
	}
	for _, t := range r.Tasks {
		line := fmt.Sprintf("- %s: %s", t.Name, t.Outcome)
		if t.Skill != "" {
			line += fmt.Sprintf(", %s version %d, %s", t.Skill, t.Version, t.Status)
		}
		lines = append(lines, line)
	}
	if r.Agent != nil {
		for _, w := range r.Agent.Writes {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("- %s %s %s", w.Tool, w.Action, w.Name)))
		}
	}
	return strings.Join(lines, "\n"), true, nil
}
