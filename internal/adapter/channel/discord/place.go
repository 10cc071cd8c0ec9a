package discord

import (
	"context"
	"errors"
	"net/http"

	disgo "github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"cairn/internal/domain/channel"
)

// maxPlaces is the number of channels whose kinds are kept in memory.
const maxPlaces = 10_000

// place is where the messages of a channel are read.
type place struct {
	channel.Place
	group bool
	user  channel.Sender // of a private chat
}

// room is a channel or a thread of Discord.
type room struct {
	ID     snowflake.ID      `json:"id"`
	Type   disgo.ChannelType `json:"type"`
	Parent snowflake.ID      `json:"parent_id"`
	Users  []user            `json:"recipients"` // of a private chat
}

func (a *Adapter) placeOf(r room) place {
	p := place{Place: channel.Place{Account: a.Account, Chat: r.ID.String()}, group: r.Type != disgo.ChannelTypeDM}
	switch r.Type {
	case disgo.ChannelTypeDM:
		if len(r.Users) > 0 {
			p.user = channel.Sender{ID: r.Users[0].ID.String(), Name: r.Users[0].shown("")}
		}
	case disgo.ChannelTypeGuildNewsThread, disgo.ChannelTypeGuildPublicThread, disgo.ChannelTypeGuildPrivateThread:
		if r.Parent != 0 {
			p.Chat, p.Thread = r.Parent.String(), r.ID.String()
		}
	}
	return p
}

// find returns the place of a channel, and asks Discord for one that is new. If the bot may not read the channel,
// the place is the channel itself; server states whether the channel is in a server.
func (a *Adapter) find(ctx context.Context, id snowflake.ID, server bool) (place, error) {
	if p, known := a.places.Get(id); known {
		return p, nil
	}
	var r room
	err := a.read(ctx, rest.GetChannel.Compile(nil, id), &r)
	var refused *apiError
	if errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Code != 0 {
		return place{Place: channel.Place{Account: a.Account, Chat: id.String()}, group: server}, nil
	}
	if err != nil {
		return place{}, err
	}
	p := a.placeOf(r)
	a.places.Add(id, p)
	return p, nil
}
