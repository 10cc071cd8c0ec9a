package client_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"cairn/starter/client"
)

// thread is the thread that the examples of working memory shorten.
var thread = []client.Message{
	{Role: "user", Content: "Read the log."},
	{Role: "assistant", ToolCalls: []any{map[string]any{"id": "c1", "type": "function",
		"function": map[string]any{"name": "read_log", "arguments": "{}"}}}},
	{Role: "tool", ToolCallID: "c1", Content: strings.Repeat("Nothing happened.\n", 2000) + "The code is 4711.\n"},
	{Role: "user", Content: "Thanks."},
}

func ExampleClient_Offload() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	short, err := c.Offload(ctx, client.OffloadRequest{
		Messages: thread, Mode: "compact", Session: "log-1", TotalTokens: 1000, KeepRecent: new(0)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(short.Messages), "messages,", len(short.Offloaded), "offloaded")
	fmt.Println(short.TokensAfter < short.TokensBefore/10)
	// Output:
	// 4 messages, 1 offloaded
	// true
}

func ExampleClient_Reload() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	short, err := c.Offload(ctx, client.OffloadRequest{
		Messages: thread, Mode: "compact", Session: "log-2", TotalTokens: 1000, KeepRecent: new(0)})
	if err != nil {
		log.Fatal(err)
	}
	content, err := c.Reload(ctx, short.Offloaded[0].Handle)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(content.Kind, content.Content == thread[2].Content)
	// Output: text true
}

func ExampleClient_Grep() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	_, err = c.Offload(ctx, client.OffloadRequest{
		Messages: thread, Mode: "compact", Session: "log-3", TotalTokens: 1000, KeepRecent: new(0)})
	if err != nil {
		log.Fatal(err)
	}
	hits, err := c.Grep(ctx, client.Grep{Pattern: "the code", Session: "log-3", Before: new(1)})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits.Hits {
		fmt.Println(h.Line, h.Text, h.Before)
	}
	// Output: 2001 The code is 4711. [Nothing happened.]
}

func ExampleClient_Read() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	short, err := c.Offload(ctx, client.OffloadRequest{
		Messages: thread, Mode: "compact", Session: "log-4", TotalTokens: 1000, KeepRecent: new(0)})
	if err != nil {
		log.Fatal(err)
	}
	page, err := c.Read(ctx, short.Offloaded[0].Handle, 1999, 2)
	if err != nil {
		log.Fatal(err)
	}
	for i, line := range page.Lines {
		fmt.Println(page.From+i, line)
	}
	// Output:
	// 2000 Nothing happened.
	// 2001 The code is 4711.
}
