//! The object store as AWS's own library speaks to it; the only place that knows that library. Who it signs in as, in which region
//! and at which endpoint, is found where AWS's own tools find it.

use std::collections::HashMap;
use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    HttpClient, ProvideCredentials as _, Region, RequestChecksumCalculation, ResponseChecksumValidation,
};
use aws_sdk_s3::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Builder, Connector};
use tokio::runtime::Runtime;

use super::bucket::{Bucket, BucketError, BucketErrorKind as Kind, Listed, Put, Stop, Tag};
use crate::config::BucketPlace;
use crate::model::Digest;

/// Longest time for establishing a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest time for one attempt, without the time that the bytes of an upload need.
const ATTEMPT: Duration = Duration::from_secs(60);
/// Slowest line on which an upload arrives (bytes per second).
const SLOWEST: u64 = 8 << 10;
/// Attempts of one request, with growing pauses between them.
const ATTEMPTS: u32 = 3;
/// Interval between two checks for cancellation.
const LOOK: Duration = Duration::from_millis(50);
/// Region in signatures if none is configured; most services other than AWS expect this one.
const USUAL_REGION: &str = "us-east-1";
/// Metadata key of the keyed digest of an object.
const MAC: &str = "jackin-mac";
const LAST: &str = "jackin-last";

/// A bucket, from a prefix on.
pub struct S3 {
    runtime: Runtime,
    client: Client,
    place: BucketPlace,
    stop: Stop,
}

impl std::fmt::Debug for S3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "S3({})", self.place)
    }
}

impl S3 {
    /// Finds out who signs in and where. Nothing is asked of the bucket yet.
    ///
    /// # Errors
    /// [`BucketError`], above all when no credentials are found.
    pub fn open(place: &BucketPlace, stop: Stop) -> Result<Self, BucketError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| BucketError::new(Kind::Odd, format!("no runtime: {error}")))?;
        let client = within(&runtime, &stop, sign_in())??;
        Ok(Self {
            runtime,
            client,
            place: place.clone(),
            stop,
        })
    }

    fn ask<T>(&self, work: impl Future<Output = Result<T, BucketError>>) -> Result<T, BucketError> {
        within(&self.runtime, &self.stop, work)?
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.place.prefix())
    }

    /// Pages of a listing; `delimiter` folds what lies behind it.
    async fn pages(
        &self,
        beginning: &str,
        delimiter: Option<&str>,
        mut each: impl FnMut(&aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output),
    ) -> Result<(), BucketError> {
        let mut next: Option<String> = None;
        loop {
            let page = self
                .client
                .list_objects_v2()
                .bucket(self.place.bucket())
                .prefix(self.key(beginning))
                .set_delimiter(delimiter.map(str::to_owned))
                .set_continuation_token(next.take())
                .send()
                .await
                .map_err(told)?;
            each(&page);
            next = page.next_continuation_token().map(str::to_owned);
            if next.is_none() || page.is_truncated() != Some(true) {
                return Ok(());
            }
        }
    }
}

/// Runs work to its end, unless the caller stops it.
fn within<T>(runtime: &Runtime, stop: &Stop, work: impl Future<Output = T>) -> Result<T, BucketError> {
    let given_up = async {
        while !stop() {
            tokio::time::sleep(LOOK).await;
        }
    };
    runtime.block_on(async {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = given_up => Err(BucketError::new(Kind::Interrupted, "interrupted")),
        }
    })
}

/// Returns a client with the credentials that the environment and AWS's files configure.
async fn sign_in() -> Result<Client, BucketError> {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(ATTEMPT)
        .build();
    let shared = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http())
        .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
        .timeout_config(timeouts)
        .load()
        .await;
    let none = |why: String| {
        BucketError::new(
            Kind::NoCredentials,
            format!(
                "no credentials were found in the environment, in AWS's files or from the machine ({why})"
            ),
        )
    };
    match shared.credentials_provider() {
        // Else each request would look for them, and say less.
        Some(provider) => drop(
            provider
                .provide_credentials()
                .await
                .map_err(|error| none(context(&error)))?,
        ),
        None => return Err(none("nothing is asked for them".to_owned())),
    }
    let mut config = aws_sdk_s3::config::Builder::from(&shared)
        // Other services do not know the newer checksums; content has digests of ours.
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
        // At an endpoint of one's own the bucket is rarely a host name.
        .force_path_style(has_own_endpoint(&shared));
    if shared.region().is_none() {
        config = config.region(Region::from_static(USUAL_REGION));
    }
    Ok(Client::from_conf(config.build()))
}

fn has_own_endpoint(shared: &SdkConfig) -> bool {
    shared.endpoint_url().is_some() || std::env::var_os("AWS_ENDPOINT_URL_S3").is_some()
}

/// TLS in Rust, the system's certificates, and the proxy that the environment names.
fn http() -> impl HttpClient + 'static {
    Builder::new().build_with_connector_fn(|settings, components| {
        let mut connector = Connector::builder()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .proxy_config(ProxyConfig::from_env());
        connector.set_connector_settings(settings.cloned());
        if let Some(components) = components {
            connector.set_sleep_impl(components.sleep_impl());
        }
        connector.build()
    })
}

/// Failure of a download.
enum Broken {
    /// The answer began and broke off.
    Off(BucketError),
    Refused(BucketError),
}

impl S3 {
    async fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, Broken> {
        let got = self
            .client
            .get_object()
            .bucket(self.place.bucket())
            .key(self.key(name))
            .send()
            .await;
        let got = match got {
            Ok(got) => got,
            Err(error) if status(&error) == Some(404) && !is_without_bucket(&error) => return Ok(None),
            Err(error) => return Err(Broken::Refused(told(error))),
        };
        let mut body = got.body;
        let mut bytes = Vec::new();
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| {
                let what = format!("the answer broke off: {}", context(&error));
                Broken::Off(BucketError::new(Kind::Unreachable, what))
            })?;
            if (bytes.len() + piece.len()) as u64 > most {
                let what = format!("{name} is longer than {most} bytes");
                return Err(Broken::Refused(BucketError::new(Kind::Odd, what)));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Some(bytes))
    }
}

impl Bucket for S3 {
    fn put_new(&self, name: &str, bytes: Vec<u8>, tag: &Tag) -> Result<Put, BucketError> {
        let slowest = ATTEMPT + Duration::from_secs(bytes.len() as u64 / SLOWEST);
        self.ask(async {
            let patient = TimeoutConfig::builder().operation_attempt_timeout(slowest);
            let put = self
                .client
                .put_object()
                .bucket(self.place.bucket())
                .key(self.key(name))
                .if_none_match("*")
                .content_type("application/octet-stream")
                .set_metadata(Some(beside(tag)))
                .body(ByteStream::from(bytes))
                .customize()
                .config_override(aws_sdk_s3::config::Config::builder().timeout_config(patient.build()))
                .send()
                .await;
            match put {
                Ok(_) => Ok(Put::Done),
                Err(error) if is_without_bucket(&error) => Err(told(error)),
                Err(error) => match status(&error) {
                    Some(412) => Ok(Put::Taken),
                    Some(409) => Ok(Put::Busy),
                    _ => Err(told(error)),
                },
            }
        })
    }

    fn tag(&self, name: &str) -> Result<Option<Tag>, BucketError> {
        self.ask(async {
            let head = self
                .client
                .head_object()
                .bucket(self.place.bucket())
                .key(self.key(name))
                .send()
                .await;
            match head {
                Ok(head) => {
                    let value = |key| head.metadata().and_then(|all| all.get(key));
                    let last = value(LAST).and_then(|last| last.parse().ok());
                    let mac = value(MAC).and_then(|mac| Digest::from_hex(mac));
                    Ok(mac.map(|mac| Tag { mac, last }))
                }
                Err(error) if status(&error) == Some(404) => Ok(None),
                Err(error) => Err(told(error)),
            }
        })
    }

    fn get(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, BucketError> {
        self.ask(async {
            // The client repeats requests, not answers that break off.
            let mut attempt = 1;
            loop {
                match self.read(name, most).await {
                    Err(Broken::Off(_)) if attempt < ATTEMPTS => {
                        tokio::time::sleep(Duration::from_secs(attempt.into())).await;
                        attempt += 1;
                    }
                    Err(Broken::Off(error) | Broken::Refused(error)) => return Err(error),
                    Ok(bytes) => return Ok(bytes),
                }
            }
        })
    }

    fn list(&self, beginning: &str) -> Result<Vec<Listed>, BucketError> {
        let prefix = self.place.prefix();
        let mut found = Vec::new();
        self.ask(self.pages(beginning, None, |page| {
            let objects = page.contents().iter().filter_map(|object| {
                let name = object.key()?.strip_prefix(&prefix)?.to_owned();
                let size = object.size().and_then(|size| u64::try_from(size).ok())?;
                Some(Listed { name, size })
            });
            found.extend(objects);
        }))?;
        found.sort_by(|a: &Listed, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn folders(&self) -> Result<Vec<String>, BucketError> {
        let prefix = self.place.prefix();
        let mut found = Vec::new();
        self.ask(self.pages("", Some("/"), |page| {
            let folders = page.common_prefixes().iter().filter_map(|folder| {
                let name = folder.prefix()?.strip_prefix(&prefix)?;
                Some(name.trim_end_matches('/').to_owned())
            });
            found.extend(folders);
        }))?;
        found.sort();
        Ok(found)
    }

    fn delete(&self, name: &str) -> Result<(), BucketError> {
        self.ask(async {
            let deleted = self
                .client
                .delete_object()
                .bucket(self.place.bucket())
                .key(self.key(name))
                .send()
                .await;
            match deleted {
                Ok(_) => Ok(()),
                Err(error) if status(&error) == Some(404) && !is_without_bucket(&error) => Ok(()),
                Err(error) => Err(told(error)),
            }
        })
    }

    fn place(&self) -> String {
        self.place.to_string()
    }
}

/// A tag as it stands beside an object.
fn beside(tag: &Tag) -> HashMap<String, String> {
    let mac = (MAC.to_owned(), tag.mac.hex());
    let last = tag.last.map(|last| (LAST.to_owned(), last.to_string()));
    std::iter::once(mac).chain(last).collect()
}

type Failure<E> = SdkError<E, aws_sdk_s3::config::http::HttpResponse>;

fn status<E>(error: &Failure<E>) -> Option<u16> {
    error.raw_response().map(|response| response.status().as_u16())
}

fn is_without_bucket<E: ProvideErrorMetadata>(error: &Failure<E>) -> bool {
    error.code() == Some("NoSuchBucket")
}

/// An error with what led to it, on one line.
fn context(error: &dyn std::error::Error) -> String {
    let mut parts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(inner) = source {
        let text = inner.to_string();
        // Many only pass on what they hold.
        if parts.last().is_none_or(|last| !last.contains(&text)) {
            parts.push(text);
        }
        source = inner.source();
    }
    parts.join(": ")
}

/// Variables that give the address of the service, which may hold a password.
const ENDPOINTS: [&str; 2] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];

/// Returns a text with the names of variables in place of the addresses in them, and without user names, passwords and queries in other
/// addresses.
fn without_endpoint(text: &str) -> String {
    let mut text = text.to_owned();
    for name in ENDPOINTS {
        let address = std::env::var(name).unwrap_or_default();
        if !address.is_empty() {
            text = text.replace(&address, name);
        }
    }
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_whitespace() || "`'\"),".contains(c));
        let (address, rest) = part.split_at(end.unwrap_or(part.len()));
        let address = address.rsplit('@').next().unwrap_or_default();
        let address = address.split('?').next().unwrap_or_default();
        shown.push_str("://");
        shown.push_str(address);
        shown.push_str(rest);
    }
    shown
}

/// Converts an error of the SDK. Of the service's answer, it contains only the code and the message.
fn told<E>(error: Failure<E>) -> BucketError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let code = error.code().unwrap_or_default();
    let said = match (code, error.message().unwrap_or_default()) {
        ("", "") => String::new(),
        (code, "") => format!(" ({code})"),
        (code, message) => format!(" ({code}: {message})"),
    };
    let made = match &error {
        SdkError::TimeoutError(_) => BucketError::new(Kind::Unreachable, "timed out"),
        SdkError::DispatchFailure(failure) if !failure.is_user() => {
            let why = failure
                .as_connector_error()
                .map(|error| context(error))
                .unwrap_or_default();
            let why = without_endpoint(&why);
            BucketError::new(Kind::Unreachable, format!("it cannot be reached ({why})"))
        }
        SdkError::ResponseError(_) => BucketError::new(Kind::Unreachable, "the answer broke off"),
        SdkError::ServiceError(_) => of_service(code, status(&error), &said),
        other => BucketError::new(
            Kind::Odd,
            without_endpoint(&DisplayErrorContext(other).to_string()),
        ),
    };
    match error.into_source() {
        Ok(source) => made.because(source),
        Err(_) => made,
    }
}

fn of_service(code: &str, status: Option<u16>, said: &str) -> BucketError {
    let (kind, what) = match (code, status.unwrap_or_default()) {
        ("NoSuchBucket", _) => (Kind::NoBucket, "bucket not found"),
        ("RequestTimeTooSkewed" | "RequestExpired", _) => {
            (Kind::Skew, "the clock here and the one there differ too much")
        }
        ("ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired", _) => {
            (Kind::Refused, "the credentials have expired")
        }
        (_, 401 | 403) => (Kind::Refused, "the credentials are refused, or may not do this"),
        ("PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException", _)
        | (_, 301 | 307) => (Kind::Odd, "the bucket is in another region"),
        (_, 501) => (Kind::Odd, "the service cannot do what is asked"),
        (_, 429 | 500..=599) => (Kind::Unreachable, "the service cannot serve now"),
        _ => (Kind::Odd, "the service refuses it"),
    };
    let number = match status {
        Some(status) if said.is_empty() => format!(" (status {status})"),
        _ => said.to_owned(),
    };
    BucketError::new(kind, format!("{what}{number}"))
}
