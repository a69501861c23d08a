//! The connection with a real agent, without an engine around it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pandastack_engine::guest::{Connection, GuestClient};
use pandastack_engine::runsc::{GuestStdio, Runsc, SandboxSpec, write_bundle};
use pandastack_engine::template;
use pandastack_guest_protocol::context::CreateContext;
use pandastack_guest_protocol::exec::ExecRequest;
use pandastack_guest_protocol::hello::Hello;

use crate::home::{TestHome, cell, collect, shell, with_home};

const DEADLINE: Duration = Duration::from_secs(60);

struct Container {
    runsc: Runsc,
    bundle: PathBuf,
    connection: Arc<Connection>,
}

impl Container {
    /// Restores `image`, or the template's checkpoint, under the name `id`.
    async fn restore(home: &TestHome, id: &str, image: Option<PathBuf>) -> Self {
        let template = template::find(&home.home(), "code-interpreter").unwrap();
        let runsc = Runsc::new(&home.config().runsc.path, home.home().run());
        let folder = home.home().sandboxes().join(id);
        let bundle = folder.join("bundle");
        std::fs::create_dir_all(&bundle).unwrap();
        std::fs::create_dir_all(home.home().run()).unwrap();
        write_bundle(&bundle, &SandboxSpec { hostname: id.to_owned(), ..template.spec() }).unwrap();
        let stdio = GuestStdio::of(&folder);
        stdio.make().unwrap();
        runsc.create(id, &bundle, &stdio, None).await.unwrap();
        runsc.restore_into(id, &bundle, &image.unwrap_or(template.checkpoint())).await.unwrap();
        let connection = Connection::open(id, &stdio, 0, true).unwrap();
        connection
            .hello(&Hello { sandbox_id: id.to_owned(), reseed: true, ..Hello::default() }, DEADLINE)
            .await
            .unwrap();
        Self { runsc, bundle, connection }
    }

    fn guest(&self) -> GuestClient {
        self.connection.client(&Arc::default())
    }
}

#[test]
fn a_frozen_sandbox_can_be_copied_and_goes_on() {
    with_home(|home| async {
        let parent = Container::restore(home, "parent", None).await;
        let guest = parent.guest();
        let context = CreateContext { language: "python".into(), ..CreateContext::default() };
        let context = guest.create_context(&context).await.unwrap();
        cell(&guest, &context.id, "x = 41").await;
        let command = "for i in $(seq 30); do echo $i; sleep 0.1; done".to_owned();
        let stream = guest.exec(&ExecRequest { command: Some(command), ..ExecRequest::default() }).await.unwrap();
        let counting = tokio::spawn(collect(stream));

        let image = parent.bundle.join("image");
        std::fs::create_dir(&image).unwrap();
        parent.connection.freeze(DEADLINE).await.unwrap();
        parent.runsc.checkpoint("parent", &image, true).await.unwrap();
        parent.connection.thaw().await.unwrap();
        let child = Container::restore(home, "child", Some(image)).await;

        let counted = counting.await.unwrap().unwrap().stdout;
        assert_eq!(counted, (1..=30).map(|number| format!("{number}\n")).collect::<String>());
        cell(&guest, &context.id, "x = 0").await;
        let (_, output) = cell(&child.guest(), &context.id, "print(x + 1)").await;
        assert_eq!(output.stdout, "42\n");
        let (_, output) = shell(&child.guest(), "hostname").await;
        assert_eq!(output.stdout, "child\n");
        for id in ["parent", "child"] {
            parent.runsc.delete(id, true).await.unwrap();
        }
    });
}
