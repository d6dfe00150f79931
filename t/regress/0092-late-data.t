#!/usr/bin/perl
# Data that came later than a page seemed to be ready was missed without a word:
# nothing said that requests were pending, and nobody could ask to wait. Pages
# saw a window of 800 x 600.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More;

my $dir = tempdir('bt-late-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
my $demo = BrowserTask::Scenario::Site->new;

sub put {
	my ($name, $html) = @_;
	open(my $fh, '>', "$dir/$name.html") or die "$!\n";
	print $fh "<!DOCTYPE html><meta charset=utf-8><title>$name</title>",
	    "<main><h1>$name</h1><p id=p>Nothing yet.</p></main>$html";
	close $fh or die "$!\n";
}

my $come = 'p.textContent = "It has come."';
put('timer', "<script>setTimeout(() => { $come }, 1500)</script>");
put('chain', "<script>setTimeout(() => fetch('/timer').then(() =>"
	. " setTimeout(() => fetch('/timer').then(() => { $come }), 600)), 600)"
	. '</script>');
put('parts', '<script>let n = 0; const t = setInterval(() => {'
	. " p.textContent = 'Part ' + ++n; if (n === 3) { clearInterval(t);"
	. " $come } }, 600)</script>");
put('loader', '<div class="spinner" id="s">o</div><script>setTimeout(() => {'
	. " s.remove(); $come }, 1200)</script>");
put('size', '<script>p.textContent = innerWidth + " x " + innerHeight</script>');

my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub read_page {
	my ($url, %inputs) = @_;
	my $s = batch($c, [ $url ], { mode => 'async' }, %inputs);
	my $r = ended($c, $s->{runId}) or return {};
	my $row = artifact_of($r, 'extraction') or return {};
	my ($full) = @{ JSON::PP->new->utf8->decode(
		artifact($c, $row->{artifact_id})) };
	return { %$full, text => join ' ', map { $_->{text} }
		    @{ $full->{content}{sections} } };
}

my $come_re = qr/^It has come\.$/;
like(read_page($site->url('/timer'), settle => 2000)->{text}, $come_re,
	'settle: milliseconds');
like(read_page($site->url('/parts'), settle => 'text')->{text}, $come_re,
	'settle: text, over gaps of 600 ms');
like(read_page($site->url('/chain'), settle => 'network')->{text}, $come_re,
	'settle: network, over gaps of 600 ms');
like(read_page($site->url('/loader'))->{text}, qr/It has come\./,
	'a sign of loading is waited for without being asked');
is(read_page($site->url('/size'))->{text}, '1280 x 800', 'the window');
my $never = read_page($demo->url('/fetch-never'));
is_deeply($never->{pending}, { requests => 1 }, 'a request that was not answered is told');
ok(!exists read_page($site->url('/size'))->{pending}, 'if there is one');
is($c->run('batch_extract_pages', { urls => [ $site->url('/size') ],
	settle => 'never' })->{errorCode}, 'INVALID_PARAMETER',
	'any other way to settle is refused');
is($i->stop, 0, 'stops');
$_->stop for $site, $demo;
done_testing();
