package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	disgo "github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
)

// Limits of messages with buttons, and of looking for a message.
const (
	maxInRow      = 5
	maxButtons    = 25
	maxLabel      = 80  // characters
	maxData       = 100 // characters
	maxReadBack   = 50  // messages
	maxSent       = 1000
	longestRepeat = 24 * time.Hour // of a delivery
)

// nonceOf derives the nonce of a part, which has at most 25 characters.
func nonceOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:12])
}

// noPings lets a message notify no user, whatever its text mentions.
func noPings() *disgo.AllowedMentions {
	return &disgo.AllowedMentions{Parse: []disgo.AllowedMentionType{}, Roles: []snowflake.ID{}, Users: []snowflake.ID{}}
}

// Send sends a message as it is: Discord reads Markdown. It shows no previews of links, which Discord would fetch: a
// link in a reply can contain what others should not get. Discord recognizes the nonce for a few minutes. After an
// attempt with an unknown outcome, Send looks for the message first.
func (a *Adapter) Send(ctx context.Context, to channel.Place, p channel.Part) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	target, err := channelOf(to)
	if err != nil {
		return "", err
	}
	create := disgo.MessageCreate{Content: p.Text, Nonce: nonceOf(p.Key), EnforceNonce: true,
		AllowedMentions: noPings(), Flags: disgo.MessageFlagSuppressEmbeds}
	if create.Components, err = buttonRows(p.Buttons); err != nil {
		return "", err
	}
	if p.Repeated {
		if id, err := a.findSent(ctx, target, create); err != nil || id != "" {
			return id, err
		}
	}
	var made message
	err = a.do(ctx, rest.CreateMessage.Compile(nil, target), create, &made)
	var refused *apiError
	if errors.As(err, &refused) && refused.Code == unknownMessage {
		return "", nil // the nonce is known, and the message was deleted since
	}
	if err != nil {
		return "", refusal(err)
	}
	a.sent.Add(made.ID, create.Nonce)
	return made.ID.String(), nil
}

// buttonRows makes rows of buttons.
func buttonRows(all []channel.Choice) (rows []disgo.ContainerComponent, err error) {
	if len(all) > maxButtons {
		return nil, &service.SendError{Reason: fmt.Sprintf("more than %d buttons", maxButtons), Permanent: true}
	}
	var row disgo.ActionRowComponent
	for i, c := range all {
		if n := utf8.RuneCountInString(c.Data); n > maxData || n == 0 {
			return nil, &service.SendError{Reason: fmt.Sprintf("the data of a button must have 1 to %d characters",
				maxData), Permanent: true}
		}
		label := []rune(c.Label)
		row = append(row, disgo.NewSecondaryButton(string(label[:min(len(label), maxLabel)]), c.Data))
		if len(row) == maxInRow || i == len(all)-1 {
			rows, row = append(rows, row), nil
		}
	}
	return rows, nil
}

// findSent looks for a message among the latest of a channel, and returns its ID. Discord does not always show the
// nonce, so a message of the bot with the same text counts, unless this process has sent it for another part.
func (a *Adapter) findSent(ctx context.Context, target snowflake.ID, want disgo.MessageCreate) (id string, err error) {
	me, err := a.self(ctx)
	if err != nil {
		return "", refusal(err)
	}
	var latest []message
	err = a.do(ctx, rest.GetMessages.Compile(disgo.QueryValues{"limit": maxReadBack}, target), nil, &latest)
	if isGone(err) {
		return "", nil // the bot may not read the channel; the nonce decides
	}
	if err != nil {
		return "", refusal(err)
	}
	for _, m := range latest {
		if m.Author.ID == me && a.isSame(m, want) {
			return m.ID.String(), nil
		}
	}
	return "", nil
}

func (a *Adapter) isSame(m message, want disgo.MessageCreate) bool {
	known, _ := a.sent.Peek(m.ID)
	for _, nonce := range []string{known, string(m.Nonce)} {
		if nonce != "" {
			return nonce == want.Nonce
		}
	}
	return strings.TrimSpace(m.Content) == strings.TrimSpace(want.Content) && time.Since(m.ID.Time()) < longestRepeat
}

// Edit replaces the text of a message.
func (a *Adapter) Edit(ctx context.Context, to channel.Place, messageID, text string) error {
	target, err := channelOf(to)
	if err != nil {
		return err
	}
	id, err := messageOf(messageID)
	if err != nil {
		return err
	}
	update := disgo.MessageUpdate{Content: &text, AllowedMentions: noPings()}
	return refusal(a.do(ctx, rest.UpdateMessage.Compile(nil, target, id), update, nil))
}

// Delete deletes a message of the bot. It is no error if there is none.
func (a *Adapter) Delete(ctx context.Context, to channel.Place, messageID string) error {
	target, err := channelOf(to)
	if err != nil {
		return err
	}
	id, err := messageOf(messageID)
	if err != nil {
		return err
	}
	err = a.do(ctx, rest.DeleteMessage.Compile(nil, target, id), nil, nil)
	var refused *apiError
	if errors.As(err, &refused) && refused.Code == unknownMessage {
		return nil
	}
	return refusal(err)
}

// changeEvery is the time between two changes of a message. Discord allows about five in five seconds.
const changeEvery = 1500 * time.Millisecond

// Pace returns how a partial reply is shown.
func (a *Adapter) Pace(channel.Place) channel.Pace { return channel.Pace{Every: changeEvery} }

func messageOf(messageID string) (snowflake.ID, error) {
	id, err := snowflake.Parse(messageID)
	if err != nil || id == 0 {
		return 0, &service.SendError{Reason: fmt.Sprintf("invalid message %.40q", messageID), Permanent: true}
	}
	return id, nil
}
