package webhook_test

import (
	"testing"

	"cairn/internal/adapter/channel/channeltest"
	"cairn/internal/adapter/channel/webhook"
	"cairn/internal/adapter/channel/webhook/webhooktest"
	service "cairn/internal/service/channel"
)

func TestWebhook(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Suite{
		Start: func() channeltest.Platform { return webhooktest.Start() },
		Open: func(p channeltest.Platform) (service.Adapter, error) {
			return webhook.New(
				webhook.Options{Account: "ada", Secret: webhooktest.Secret, URL: p.(*webhooktest.Program).URL},
			)
		},
		Wrong: func(channeltest.Platform) (service.Adapter, error) {
			return webhook.New(webhook.Options{Account: "ada", Secret: "whsec_!"})
		},
		Secret:  webhooktest.Secret,
		Threads: true,
		Buttons: true,
		Retries: true,
	})
}
