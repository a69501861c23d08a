//! Code contexts.

use pandastack_guest_protocol::context::{CreateContext, EndStatus};

use crate::home::{cell, create, shell, with_home};

#[test]
fn a_context_keeps_its_variables() {
    with_home(|home| async {
        let engine = home.open().await;
        let guest = engine.guest(&create(&engine).await.id).await.unwrap();
        let context = guest
            .create_context(&CreateContext { language: "python".into(), ..CreateContext::default() })
            .await
            .unwrap();
        let (end, _) = cell(&guest, &context.id, "import numpy as np\nx = np.arange(5)").await;
        assert_eq!(end.status, EndStatus::Ok);
        let (end, output) = cell(&guest, &context.id, "print('é😀'); int(x.sum())").await;
        assert_eq!((end.status, output.stdout.as_str()), (EndStatus::Ok, "é😀\n"));
        assert_eq!(output.results[0]["data"]["text/plain"], "10");
        let (end, output) = cell(&guest, &context.id, "1/0").await;
        assert_eq!(end.status, EndStatus::Error);
        assert_eq!(output.error.unwrap()["name"], "ZeroDivisionError");
        guest.delete_context(&context.id).await.unwrap();
        assert_eq!(guest.context(&context.id).await.unwrap_err().status(), 404);
        engine.shutdown(true).await.unwrap();
    });
}

#[test]
fn two_sandboxes_of_one_template_draw_different_random_numbers() {
    with_home(|home| async {
        let engine = home.open().await;
        let mut drawn = Vec::new();
        for _ in 0..2 {
            let guest = engine.guest(&create(&engine).await.id).await.unwrap();
            let context = guest
                .create_context(&CreateContext { language: "python".into(), ..CreateContext::default() })
                .await
                .unwrap();
            let (_, output) =
                cell(&guest, &context.id, "import random, numpy\nprint(random.random(), numpy.random.random())").await;
            drawn.push(output.stdout);
        }
        assert_ne!(drawn[0], drawn[1]);
        engine.shutdown(true).await.unwrap();
    });
}

#[test]
fn an_allocation_beyond_the_host_is_an_error_of_the_program() {
    with_home(|home| async {
        let engine = home.open().await;
        let guest = engine.guest(&create(&engine).await.id).await.unwrap();
        let request = CreateContext { language: "python".to_owned(), ..CreateContext::default() };
        let context = guest.create_context(&request).await.unwrap().id;
        cell(&guest, &context, "kept = 1").await;
        let (end, output) = cell(&guest, &context, "import mmap; mmap.mmap(-1, 1 << 40)").await;
        assert_eq!(end.status, EndStatus::Error);
        let error = output.error.unwrap();
        assert!(error["value"].as_str().unwrap().contains("Cannot allocate memory"), "{error}");
        let (_, output) = cell(&guest, &context, "print(kept)").await;
        assert_eq!(output.stdout, "1\n");
        let (exit, output) = shell(&guest, "python3 -c 'import mmap; mmap.mmap(-1, 1 << 40)'").await;
        assert!(exit.exit_code == 1 && output.stderr.contains("Cannot allocate memory"), "{output:?}");
        engine.shutdown(true).await.unwrap();
    });
}
