package telegram

import (
	"context"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"cairn/internal/domain/channel"
)

// SetMenu replaces the commands that clients show when a user writes a slash, in English and in Chinese.
func (a *Adapter) SetMenu(ctx context.Context, commands []channel.Command) error {
	english := &bot.SetMyCommandsParams{}
	chinese := &bot.SetMyCommandsParams{LanguageCode: "zh"}
	for _, c := range commands {
		english.Commands = append(english.Commands, models.BotCommand{Command: c.Name, Description: c.English})
		chinese.Commands = append(chinese.Commands, models.BotCommand{Command: c.Name, Description: c.Chinese})
	}
	for _, p := range []*bot.SetMyCommandsParams{english, chinese} {
		if _, err := a.bot.SetMyCommands(ctx, p); err != nil {
			return a.redact(err)
		}
	}
	return nil
}
