package slack

import (
	"context"
	"regexp"
	"strings"
)

// maxText is the size of a message in UTF-16 units. Slack limits the text of a changed message to as many bytes.
const maxText = 4000

// reference matches what Slack writes for mentions and links. Other angle brackets are escaped.
var reference = regexp.MustCompile(`<([^<>\n]+)>([:,]?[ \t]*)`)

var (
	escaper   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	unescaper = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")
)

// plain returns a text as the user sees it, without mentions of the bot, and whether it had one. The rest of Slack's
// markup stays.
func (a *Adapter) plain(ctx context.Context, me identity, text string) (out string, mentioned bool) {
	out = reference.ReplaceAllStringFunc(text, func(found string) string {
		m := reference.FindStringSubmatch(found)
		target, label, _ := strings.Cut(m[1], "|")
		switch target {
		case "":
			return found
		case "@" + me.user:
			mentioned = true
			return ""
		}
		return a.shown(ctx, target, label) + m[2]
	})
	if mentioned {
		out = strings.TrimSpace(out)
	}
	return unescaper.Replace(out), mentioned
}

// shown returns the text of a mention or a link.
func (a *Adapter) shown(ctx context.Context, target, label string) string {
	switch rest := target[1:]; target[0] {
	case '@':
		if name := a.name(ctx, rest); name != "" {
			return "@" + name
		}
		return "@" + firstOf(label, rest)
	case '#':
		return "#" + firstOf(label, rest)
	case '!': // here, channel, everyone; or a group of users or a date, whose label is what users see
		name, _, labelled := strings.Cut(rest, "^")
		if labelled && label != "" {
			return label
		}
		return "@" + name
	}
	address := strings.TrimPrefix(target, "mailto:")
	switch {
	case label == "", strings.HasSuffix(address, "/"+label), address == label:
		return firstOf(label, address) // Slack found the link in the text
	}
	return "[" + label + "](" + target + ")"
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// broadcast matches what would notify all members of a channel or of a group.
var broadcast = regexp.MustCompile(`<!(channel|here|everyone|subteam\^\w+)(?:\|[^<>\n]*)?>`)

// markdownOf returns a text for a block of Markdown. A reply does not notify all members of a channel.
func markdownOf(text string) string { return broadcast.ReplaceAllString(text, "@$1") }

// notice returns an escaped text for notifications that is short enough for a changed message.
func notice(text string) string {
	if escaped := escaper.Replace(text); len(escaped) <= maxText {
		return escaped
	}
	const end = "…"
	var b strings.Builder
	for _, r := range text {
		next := escaper.Replace(string(r))
		if b.Len()+len(next)+len(end) > maxText {
			break
		}
		b.WriteString(next)
	}
	return b.String() + end
}
