package embedding

import "context"

// probeText is the text that Probe embeds.
const probeText = "probe"

// Probe embeds a short text. It returns an error if e cannot be used: fault.Misconfigured with both
// numbers if its vectors have other dimensions than configured.
func Probe(ctx context.Context, e Embedder) error {
	_, err := e.Embed(ctx, []string{probeText})
	return err
}
