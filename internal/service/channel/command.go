package channel

import (
	"fmt"
	"strings"
	"unicode"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/tenancy"
)

// commandOf returns the name of a command, such as help for "/help" and "/help@bot".
func commandOf(text string) (name string, ok bool) {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	name, ok = strings.CutPrefix(word, "/")
	name, _, _ = strings.Cut(strings.ToLower(name), "@")
	_, known := commands[name]
	return name, ok && known
}

// commands are the commands with their texts in English and Chinese.
var commands = map[string][2]string{
	"help":   {"shows the commands", "显示命令"},
	"start":  {"shows the commands", "显示命令"},
	"whoami": {"shows your workspace", "显示你的工作区"},
	"new":    {"begins another conversation; memories stay", "开始新的对话；记忆保留"},
}

// command runs a command.
func (s *Service) command(ws tenancy.Workspace, e StoredEvent, name string) (out EventOutcome) {
	zh := chinese(e.Text)
	pick := func(en, cn string) string {
		if zh {
			return cn
		}
		return en
	}
	switch name {
	case "whoami":
		out.Reply = fmt.Sprintf(pick("You are %s (%s) on %s. Your workspace is %s.", "你是 %s（%s），来自 %s。你的工作区是 %s。"),
			e.Sender.Name, e.Sender.ID, e.Place.Account, ws.Name)
	case "new":
		out.Renew = true
		out.Reply = pick("A new conversation begins. I remember what I have learned about you.", "新的对话开始了。我仍记得关于你的事情。")
	default:
		lines := []string{pick("Write to me, or send a command:", "给我写消息，或发送命令：")}
		for _, one := range []string{"help", "whoami", "new"} {
			lines = append(lines, "/"+one+" — "+pick(commands[one][0], commands[one][1]))
		}
		out.Reply = strings.Join(lines, "\n")
	}
	return out
}

// refusal returns the reply to a message that was not accepted.
func refusal(text string, f *fault.Error) string {
	if strings.TrimSpace(text) == "" {
		return "I can read text only."
	}
	out := "I could not accept your message: " + f.Message + "."
	if f.Hint != "" {
		out += " Please " + f.Hint + "."
	}
	return out
}

// chinese reports whether a text has Chinese characters.
func chinese(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}
