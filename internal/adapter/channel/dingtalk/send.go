package dingtalk

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
)

// message is a message of the robot.
type message struct {
	RobotCode          string   `json:"robotCode"`
	UserIDs            []string `json:"userIds,omitempty"`
	OpenConversationID string   `json:"openConversationId,omitempty"`
	MsgKey             string   `json:"msgKey"`
	MsgParam           string   `json:"msgParam"` // JSON
}

// Send sends a message as Markdown. The returned ID is the processQueryKey of DingTalk.
func (a *Adapter) Send(ctx context.Context, to channel.Place, p channel.Part) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	text := Markdown(p.Text + commands(p.Buttons))
	param, err := json.Marshal(map[string]string{"title": title(p.Text), "text": text})
	if err != nil {
		return "", err
	}
	m := message{RobotCode: a.RobotCode, MsgKey: "sampleMarkdown", MsgParam: string(param)}
	path := "/v1.0/robot/groupMessages/send"
	user, private := strings.CutPrefix(to.Chat, userPrefix)
	if private {
		path, m.UserIDs = "/v1.0/robot/oToMessages/batchSend", []string{user}
	} else {
		m.OpenConversationID = to.Chat
	}
	var res struct {
		Key     string   `json:"processQueryKey"`
		Invalid []string `json:"invalidStaffIdList"`
		Limited []string `json:"flowControlledStaffIdList"`
	}
	if err := a.request(ctx, path, m, &res); err != nil {
		return "", refusal(err)
	}
	switch {
	case private && slices.Contains(res.Invalid, user):
		return "", &service.SendError{Reason: "the user does not exist", Permanent: true, Gone: true}
	case private && slices.Contains(res.Limited, user):
		return "", &service.SendError{Reason: "rate limited", RetryAfter: busyTime}
	}
	return res.Key, nil
}

// commands returns the lines that stand for buttons, which robots have only in cards.
func commands(buttons []channel.Choice) string {
	var out strings.Builder
	for i, c := range buttons {
		if i == 0 {
			out.WriteString("\n")
		}
		out.WriteString("\n- " + c.Label + ": `" + c.Command() + "`")
	}
	return out.String()
}

// maxTitle is the length of a title, in characters.
const maxTitle = 60

// title returns the beginning of a text, which notifications show.
func title(text string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(text, "#>*-`~ \n"), "\n")
	if first == "" {
		first = "Cairn"
	}
	if utf8.RuneCountInString(first) > maxTitle {
		first = string([]rune(first)[:maxTitle-1]) + "…"
	}
	return first
}

// Markdown converts Markdown to that of DingTalk, where a line ends only after two spaces. Code is not changed.
func Markdown(source string) string {
	lines := strings.Split(source, "\n")
	fence := ""
	for i, line := range lines {
		plain := strings.TrimLeft(line, " >")
		mark := plain[:len(plain)-len(strings.TrimLeft(plain, "`~"))]
		switch {
		case fence == "" && len(mark) >= 3 && strings.Trim(mark, mark[:1]) == "":
			fence = mark
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(plain) == mark {
				fence = ""
			}
		case i+1 < len(lines) && line != "" && lines[i+1] != "" && !strings.HasSuffix(line, "  "):
			lines[i] = line + "  "
		}
	}
	return strings.Join(lines, "\n")
}
