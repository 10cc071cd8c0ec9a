package client_test

import (
	"context"
	"fmt"
	"log"

	"cairn/starter/client"
)

func ExampleClient_Runs() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.Chat(ctx, "costs", "Hello"); err != nil {
		log.Fatal(err)
	}
	for run, err := range c.Runs(ctx, client.RunFilter{Kind: "turn", Conversation: "costs"}) {
		if err != nil {
			log.Fatal(err)
		}
		line, err := c.RunTimeline(ctx, run.ID)
		if err != nil {
			log.Fatal(err)
		}
		for _, span := range line.Spans {
			fmt.Println(run.Outcome, span.Kind, span.State)
		}
	}
	// Output:
	// completed model done
}
