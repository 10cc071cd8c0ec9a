package telegram

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-telegram/bot"
)

// refusesMarkup reports whether the server refused a message that it may accept without markup. It counts at most 4,096
// UTF-16 units without the markup, and 32 KiB with it.
func refusesMarkup(err error) bool {
	return errors.Is(err, bot.ErrorBadRequest) && hasAny(err.Error(), "entities", "too long", "is empty", "non-empty")
}

// gone are what the server states with status 400 about chats and topics to which the bot cannot write. With status
// 403, it is always the chat.
var gone = []string{"chat not found", "PEER_ID_INVALID", "user is deactivated", "bot was kicked", "bot was blocked",
	"group chat was deactivated", "message thread not found", "TOPIC_CLOSED", "TOPIC_DELETED",
	"not enough rights to send", "have no rights to send"}

func hasAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
