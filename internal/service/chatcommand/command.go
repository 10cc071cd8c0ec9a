package chatcommand

import (
	"context"
	"fmt"
	"strings"

	"cairn/internal/domain/agent"
	domain "cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/service/channel"
)

// text is a text in English and in Chinese.
type text struct{ en, zh string }

// command is a command with its help.
type command struct {
	name  string
	about text
	// admin restricts the command in groups to administrators of the account. In a private chat, users command their
	// own workspace.
	admin bool
	run   func(s *Service, ctx context.Context, in channel.CommandInput) (channel.CommandReply, error)
}

// table returns the commands in the order of the help.
func table() []command {
	return []command{
		{"help", text{"shows the commands", "显示命令"}, false, (*Service).help},
		{"whoami", text{"shows your workspace", "显示你的工作区"}, false, (*Service).whoami},
		{"new", text{"begins another conversation; memories stay", "开始新的对话；记忆保留"}, false, (*Service).renew},
		{"stop", text{"stops the reply in progress", "停止正在生成的回复"}, false, (*Service).stop},
		{"retry", text{"answers your last message again", "重新回答上一条消息"}, false, (*Service).retry},
		{"memory", text{"shows what I remember; with words, searches", "显示我的记忆；加上词语则搜索"}, false, (*Service).memory},
		{"remember", text{"TEXT: saves a memory", "内容：保存一条记忆"}, true, (*Service).remember},
		{"forget", text{"TEXT: shows memories to delete", "内容：显示可删除的记忆"}, true, (*Service).forget},
		{"skills", text{"lists the skills", "列出技能"}, false, (*Service).skills},
		{"soul", text{"shows how I should behave", "显示我的行为准则"}, false, (*Service).soul},
		{"settings", text{"shows the settings, or changes one: time_zone Europe/Berlin, quiet 22:00 07:00",
			"显示设置，或修改：time_zone Asia/Shanghai、quiet 22:00 07:00"}, true, (*Service).settings},
		{"schedule", text{"lists scheduled tasks", "列出定时任务"}, false, (*Service).schedule},
		{"usage", text{"shows the usage of 30 days", "显示 30 天的用量"}, false, (*Service).usage},
		{"runs", text{"lists the latest runs", "列出最近的运行"}, false, (*Service).runs},
		{"distill", text{"makes skills of this conversation", "从本次对话提炼技能"}, true, (*Service).distill},
		{"summarize", text{"saves long-term memories of this conversation", "从本次对话保存长期记忆"}, true, (*Service).summarize},
		{"reflect", text{"reads what was not read today", "整理今天的对话"}, true, (*Service).reflect},
		{"approve", text{"approves a change; without a number, lists what waits", "批准一项更改；不加编号则列出待批准项"},
			true, (*Service).approve},
		{"reject", text{"NUMBER: rejects a change", "编号：拒绝一项更改"}, true, (*Service).reject},
		{"home", text{"sends scheduled replies and approval requests to this chat", "把定时回复和批准请求发到此聊天"}, true,
			(*Service).home},
		{"link", text{"links another platform to your workspace", "把另一平台关联到你的工作区"}, false, (*Service).link},
	}
}

// aliases are other names of commands.
var aliases = map[string]string{"start": "help"}

func find(name string) (command, bool) {
	if to, ok := aliases[name]; ok {
		name = to
	}
	for _, c := range table() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

// Known reports whether there is a command with a name.
func (s *Service) Known(name string) bool {
	_, ok := find(name)
	return ok
}

// All returns the commands in the order of the help.
func All() (out []domain.Command) {
	for _, c := range table() {
		out = append(out, domain.Command{Name: c.name, English: c.about.en, Chinese: c.about.zh})
	}
	return out
}

// List returns All.
func (s *Service) List() []domain.Command { return All() }

// Run runs a command. Errors whose code is not retryable are for the user.
func (s *Service) Run(ctx context.Context, in channel.CommandInput) (out channel.CommandReply, err error) {
	c, ok := find(in.Name)
	if !ok {
		return out, fault.New(fault.NotFound, fmt.Sprintf("unknown command /%.40s", in.Name), "send /help")
	}
	if c.admin && in.Group && !in.Admin {
		return out, fault.New(fault.OutOfScope, "only an administrator may use /"+c.name+" in a group",
			"send it in your private chat with me, where it concerns your own workspace")
	}
	return c.run(s, ctx, in)
}

// pick returns a text in the language of the user.
func pick(in channel.CommandInput, en, zh string) string {
	if in.Chinese {
		return zh
	}
	return en
}

func say(in channel.CommandInput, en, zh string) channel.CommandReply {
	return channel.CommandReply{Text: pick(in, en, zh)}
}

// actor returns the user as the author of a change. The operation has the key of the event, so that a repetition has
// no effect.
func actor(in channel.CommandInput) agent.Actor {
	return agent.Actor{Workspace: in.Workspace.ID, Origin: agent.OriginUser, Op: "chat/" + in.Key}
}

func (s *Service) help(_ context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	lines := []string{pick(in, "Write to me, or send a command:", "给我写消息，或发送命令：")}
	for _, c := range table() {
		lines = append(lines, "/"+c.name+" — "+pick(in, c.about.en, c.about.zh))
	}
	return channel.CommandReply{Text: strings.Join(lines, "\n")}, nil
}

func (s *Service) whoami(_ context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	return say(in, fmt.Sprintf("You are %s (%s) on %s. Your workspace is %s.", in.Sender.Name, in.Sender.ID,
		in.Place.Account, in.Workspace.Name), fmt.Sprintf("你是 %s（%s），来自 %s。你的工作区是 %s。", in.Sender.Name, in.Sender.ID,
		in.Place.Account, in.Workspace.Name)), nil
}

func (s *Service) renew(_ context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	out := say(in, "A new conversation begins. I remember what I have learned about you.", "新的对话开始了。我仍记得关于你的事情。")
	out.Renew = true
	return out, nil
}

func (s *Service) home(_ context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	out := say(in, "Scheduled replies, digests and approval requests come to this chat.", "定时回复、摘要和批准请求将发到此聊天。")
	out.Home = true
	return out, nil
}

func (s *Service) link(ctx context.Context, in channel.CommandInput) (channel.CommandReply, error) {
	if in.Group {
		return say(in, "Send /link in your private chat with me.", "请在与我的私聊中发送 /link。"), nil
	}
	if in.Rest == "" {
		code, err := s.Links.LinkCode(ctx, in.Place.Account, in.Sender.ID, in.Sender.Name)
		return say(in, fmt.Sprintf("Send me this from the other platform within 10 minutes: /link %s", code),
			fmt.Sprintf("请在 10 分钟内从另一平台发送给我：/link %s", code)), err
	}
	workspace, err := s.Links.Link(ctx, in.Place.Account, in.Sender.ID, in.Rest)
	return say(in, "Linked. Your workspace is "+workspace+".", "已关联。你的工作区是 "+workspace+"。"), err
}
