package slack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
)

const (
	partType     = "cairn_part"     // of the metadata of a message
	partKey      = "key"            // member of the metadata
	actionPrefix = "cairn_"         // of the IDs of buttons
	lookBack     = 25 * time.Hour   // deliveries are repeated for 24 hours
	pageSize     = 200              // messages of a page of a history
	findTime     = 60 * time.Second // of reading a history
	maxLabel     = 75               // characters of a button
)

// Send sends a message as a block of Markdown. Its metadata has the key of the part. A repetition looks for the key in
// the history first.
func (a *Adapter) Send(ctx context.Context, to channel.Place, p channel.Part) (id string, err error) {
	if p.Repeated {
		if id, err = a.find(ctx, to, p.Key); err != nil || id != "" {
			return id, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	all := slackapi.MsgOptionCompose(withoutPreviews, slackapi.MsgOptionMetadata(slackapi.SlackMetadata{
		EventType: partType, EventPayload: map[string]any{partKey: p.Key}}))
	if to.Thread != "" {
		all = slackapi.MsgOptionCompose(all, slackapi.MsgOptionTS(to.Thread))
	}
	text := escaper.Replace(p.Text)
	_, id, err = a.client.PostMessageContext(ctx, to.Chat, all, inBlocks(text, p.Text, p.Buttons))
	if refusesBlocks(err) {
		_, id, err = a.client.PostMessageContext(ctx, to.Chat, all, asItIs(text))
	}
	if err != nil {
		return "", a.refusal(err)
	}
	return id, nil
}

// Edit replaces the text of a message and removes its buttons. It keeps the metadata.
func (a *Adapter) Edit(ctx context.Context, to channel.Place, messageID, text string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, _, _, err := a.client.UpdateMessageContext(ctx, to.Chat, messageID, inBlocks(notice(text), text, nil))
	if refusesBlocks(err) {
		_, _, _, err = a.client.UpdateMessageContext(ctx, to.Chat, messageID, asItIs(escaper.Replace(text)))
	}
	return a.refusal(err)
}

// Delete deletes a message of the bot. It is no error if there is none.
func (a *Adapter) Delete(ctx context.Context, to channel.Place, messageID string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, _, err := a.client.DeleteMessageContext(ctx, to.Chat, messageID)
	if codeOf(err) == "message_not_found" {
		return nil
	}
	return a.refusal(err)
}

// Limits of changes. Slack allows an app to change 50 messages in a minute; some are for whole replies.
const (
	changeEvery = 2 * time.Second
	maxChanges  = 30
)

// Pace returns how a partial reply is shown. The methods for streams only append text, cannot state the key of a
// message, and want the user who reads a channel. So a message is changed.
func (a *Adapter) Pace(channel.Place) channel.Pace { return channel.Pace{Every: changeEvery} }

// withoutPreviews keeps Slack from fetching the links of a message.
var withoutPreviews = slackapi.MsgOptionCompose(slackapi.MsgOptionDisableLinkUnfurl(),
	slackapi.MsgOptionDisableMediaUnfurl())

// inBlocks returns the content of a message: a block of Markdown and its buttons. Notifications show the escaped text.
func inBlocks(escaped, markdown string, buttons []channel.Choice) slackapi.MsgOption {
	blocks := []slackapi.Block{slackapi.NewMarkdownBlock("", markdownOf(markdown))}
	if len(buttons) > 0 {
		var row []slackapi.BlockElement
		for i, b := range buttons {
			label := slackapi.NewTextBlockObject(slackapi.PlainTextType, shortened(b.Label, maxLabel), false, false)
			row = append(row, slackapi.NewButtonBlockElement(actionPrefix+strconv.Itoa(i), b.Data, label))
		}
		blocks = append(blocks, slackapi.NewActionBlock("", row...))
	}
	return slackapi.MsgOptionCompose(slackapi.MsgOptionText(escaped, false), slackapi.MsgOptionBlocks(blocks...))
}

// asItIs returns the content of a message whose blocks Slack did not accept.
func asItIs(escaped string) slackapi.MsgOption {
	return slackapi.MsgOptionCompose(slackapi.MsgOptionText(escaped, false), slackapi.MsgOptionBlocks(),
		slackapi.MsgOptionDisableMarkdown())
}

func shortened(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// find returns the ID of the message with a key, or empty if Slack has none.
func (a *Adapter) find(ctx context.Context, to channel.Place, key string) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	me, err := a.whoami(ctx)
	if err != nil {
		return "", err
	}
	oldest := strconv.FormatInt(time.Now().Add(-lookBack).Unix(), 10)
	for cursor := ""; ; {
		var page []slackapi.Message
		if page, cursor, err = a.history(ctx, to, oldest, cursor); err != nil {
			return "", a.refusal(fmt.Errorf("look for the message in Slack: %w", err))
		}
		for _, m := range page {
			if m.Metadata.EventType == partType && m.Metadata.EventPayload[partKey] == key && me.is(m.User, m.BotID) {
				return m.Timestamp, nil
			}
		}
		if cursor == "" {
			return "", nil
		}
	}
}

// history returns a page of the messages of a place, and the cursor of the next page.
func (a *Adapter) history(ctx context.Context, to channel.Place, oldest, cursor string) (page []slackapi.Message,
	next string, err error) {
	if to.Thread != "" {
		page, _, next, err = a.client.GetConversationRepliesContext(ctx, &slackapi.GetConversationRepliesParameters{
			ChannelID: to.Chat, Timestamp: to.Thread, Oldest: oldest, Cursor: cursor, Limit: pageSize,
			IncludeAllMetadata: true})
		return page, next, err
	}
	res, err := a.client.GetConversationHistoryContext(ctx, &slackapi.GetConversationHistoryParameters{
		ChannelID: to.Chat, Oldest: oldest, Cursor: cursor, Limit: pageSize, IncludeAllMetadata: true})
	if err != nil {
		return nil, "", err
	}
	return res.Messages, res.ResponseMetaData.NextCursor, nil
}

// permanent are the errors of Slack for messages that it will never accept.
var permanent = map[string]bool{
	"as_user_not_supported": true, "cant_update_message": true, "cant_delete_message": true,
	"compliance_exports_prevent_deletion": true, "edit_window_closed": true, "invalid_arguments": true,
	"invalid_blocks": true, "invalid_blocks_format": true, "invalid_metadata_format": true, "message_not_found": true,
	"metadata_too_large": true, "msg_blocks_too_long": true, "msg_too_long": true, "no_text": true,
}

// gone are the errors of Slack for chats and threads in which it accepts no message of the bot.
var gone = map[string]bool{
	"cannot_dm_bot": true, "cannot_reply_to_message": true, "channel_not_found": true,
	"channel_type_not_supported": true, "ekm_access_denied": true, "is_archived": true, "is_inactive": true,
	"messages_tab_disabled": true, "no_permission": true, "not_in_channel": true, "thread_not_found": true,
	"user_disabled": true, "user_not_found": true,
}

// credential are the errors of Slack for tokens. The operator can repair them, and nothing was sent.
var credential = map[string]bool{
	"access_denied": true, "account_inactive": true, "invalid_auth": true, "missing_scope": true, "not_authed": true,
	"not_allowed_token_type": true, "org_login_required": true, "team_access_not_granted": true,
	"token_expired": true, "token_revoked": true,
}

// refusesBlocks reports whether Slack did not accept the blocks of a message.
func refusesBlocks(err error) bool {
	code := codeOf(err)
	return code == "invalid_blocks" || code == "invalid_blocks_format" || code == "msg_blocks_too_long"
}

// codeOf returns the code with which Slack refused a request, empty for other errors.
func codeOf(err error) string {
	var refused slackapi.SlackErrorResponse
	if errors.As(err, &refused) {
		return refused.Err
	}
	return ""
}

// refusal converts an error of a request. Errors that leave the outcome unknown are returned as they are.
func (a *Adapter) refusal(err error) error {
	var busy *slackapi.RateLimitedError
	var status slackapi.StatusCodeError
	code := codeOf(err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &busy):
		return &service.SendError{Reason: "rate limited", RetryAfter: busy.RetryAfter}
	case errors.As(err, &status) && status.Code == http.StatusTooManyRequests,
		code == "ratelimited", code == "rate_limited", code == "message_limit_exceeded":
		return &service.SendError{Reason: "rate limited", RetryAfter: time.Minute}
	case permanent[code]:
		return &service.SendError{Reason: code, Permanent: true}
	case gone[code], strings.HasPrefix(code, "restricted_action"):
		return &service.SendError{Reason: code, Permanent: true, Gone: true}
	case credential[code]:
		return &service.SendError{Reason: code, RetryAfter: time.Minute}
	}
	return a.redact(fmt.Errorf("send to Slack: %w", err))
}
